import type { HandlerPool } from "../handler/handlerPool";
import { isRecord } from "../json/json";
import { isSecretKind } from "../kubernetes/kinds";
import type { Manifest } from "../kubernetes/objects";
import type { Scrubber } from "./scrubber";

/** What a {@link QuestionSecrets} works with. */
export interface QuestionSecretsOptions {
  readonly scrubber: Scrubber;
  /** The id of the report of the handler's run, if it has one: see {@link Scrubber.learn}. */
  readonly run?: string;
  /** The object that the handler is asked about, and its children. */
  readonly given: readonly Manifest[];
  /** The Secrets among the objects that it uses. */
  readonly used: readonly Manifest[];
}

/** The Secrets that one question gives to a handler, or that the handler answers. A scrubber learns all of them. */
export class QuestionSecrets {
  /** In characters. */
  size = 0;
  private readonly names = new Set<string>();

  constructor(private readonly options: QuestionSecretsOptions) {
    // A watched Secret is given to the handler like a used one, and so is one among the children.
    this.learn(options.given, options.used);
  }

  /** The pool, with the Secrets of its answer learnt. An answer that is refused has Secrets too. */
  learning(pool: Pick<HandlerPool, "ask">): Pick<HandlerPool, "ask"> {
    return {
      ask: async (question) => {
        const reply = await pool.ask(question);
        this.learn(manifestsIn(reply.answer));
        return reply;
      },
    };
  }

  private learn(objects: readonly Manifest[], secrets: readonly Manifest[] = []): void {
    const { scrubber, run } = this.options;
    for (const { metadata } of objects)
      for (const name of [metadata.name, metadata.namespace]) if (name !== undefined) this.names.add(name);
    this.size += scrubber.learn([...secrets, ...objects.filter(isSecretKind)], run, this.names);
  }
}

/** The children in an answer that nobody has checked, as far as they have the form of one. */
function manifestsIn({ children }: Readonly<Record<string, unknown>>): Manifest[] {
  return Array.isArray(children) ? children.filter(isManifest) : [];
}

function isManifest(value: unknown): value is Manifest {
  if (!isRecord(value) || !isRecord(value["metadata"])) return false;
  return [value["apiVersion"], value["kind"], value["metadata"]["name"]].every(
    (text) => typeof text === "string",
  );
}
