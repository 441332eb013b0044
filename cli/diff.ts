import { loadOperators } from "../definition/loadOperators";
import type { Operator } from "../runtime/definition/definition";
import { writeJson } from "../runtime/json/json";
import type { KubernetesClient } from "../runtime/kubernetes/client";
import { apiVersionOf, type KubernetesObject } from "../runtime/kubernetes/objects";
import { asTyped } from "./asTyped";
import { EXIT_CODES } from "./commandError";
import { asDeployed, type DeployedOperator, whyLeftOut } from "./diff/deployed";
import { formatPreview, formatTotal } from "./diff/formatPreview";
import { type LiveObjectOptions, liveObject } from "./diff/liveObject";
import type { ObjectPreview } from "./diff/preview";
import { liveObjects, previewAll, withPreviews } from "./diff/session";
import { installedOperators } from "./inspect/installed";
import type { InstalledOperators } from "./inspect/readInstalled";
import { withCluster } from "./inspect/session";
import { formatReference } from "./objectReference";
import type { ClusterOptions } from "./openCluster";
import { chosenOperators, findHandlers, type HandlersOptions } from "./project";
import { print, progress, styleFor } from "./terminal";

/** The options of {@link diff} and `argosy try`. */
export interface PreviewCommandOptions extends ClusterOptions, HandlersOptions, LiveObjectOptions {
  /** Give handlers the values of Secrets. */
  readonly withSecrets?: true;
  /** Print a line for each field that would change. */
  readonly details?: true;
  readonly json?: true;
}

/**
 * `argosy diff [OPERATOR | KIND/NAME ...]`: what the handlers of this working tree would change for every live object of
 * their operators, or for single objects. Nothing is written.
 *
 * @returns the exit code: 3 if something would change, 1 if a handler fails or a child is refused
 * @throws UsageError for an operator or an object that is not there
 */
export async function diff(names: readonly string[], options: PreviewCommandOptions): Promise<number> {
  const operators = loadOperators(findHandlers(options));
  return withCluster(options, async (client, connection) => {
    const installed = await installedOperators(client);
    const found: ObjectPreview[] = [];
    for (const { operator, objects } of await chosen(client, operators, names, installed, options)) {
      const session = deployedAs(operator, installed, options);
      await withPreviews(
        session,
        { connection, ...(options.withSecrets && { withSecrets: true }) },
        async (previews) => {
          const live = objects ?? (await liveObjects(previews, options.namespace));
          if (!live) {
            progress(notServed(operator));
            return;
          }
          await previewAll(previews, live, (preview) => found.push(show(preview, options)));
        },
      );
    }
    return conclude(found, options);
  });
}

/** Says that the cluster does not serve the operator's kind. */
export function notServed({ name, customResource }: Pick<Operator, "name" | "customResource">): string {
  const kind = `${customResource.kind} (${apiVersionOf(customResource)})`;
  return `${name}: the cluster serves no ${kind} yet. Deploy the operator there, or run it with argosy dev.`;
}

/** The operator as the cluster knows it. Prints notes about it for the user. */
export function deployedAs(
  operator: Operator,
  installed: InstalledOperators,
  { installation }: PreviewCommandOptions,
): DeployedOperator {
  const deployed = asDeployed(operator, installed, installation);
  for (const note of deployed.notes) progress(note);
  return deployed;
}

/** Prints a preview, with what its handler was not given as progress. Objects for which nothing would change are counted only. */
export function show(preview: ObjectPreview, { json, details }: PreviewCommandOptions): ObjectPreview {
  for (const note of preview.notes ?? []) progress(`${formatReference(preview.object)}: ${note}`);
  if (json) print(writeJson(preview));
  else if (preview.result !== "unchanged") print(formatPreview(preview, styleFor(process.stdout), details));
  return preview;
}

/** Prints the totals. @returns the exit code */
export function conclude(found: readonly ObjectPreview[], { json }: PreviewCommandOptions): number {
  if (!json) print(formatTotal(found));
  if (found.some(({ result }) => result === "failed")) return EXIT_CODES.failed;
  return found.some(({ result }) => result === "changed") ? EXIT_CODES.found : EXIT_CODES.fine;
}

interface Choice {
  readonly operator: Operator;
  /** Undefined: every live object. */
  readonly objects?: readonly KubernetesObject[];
}

async function chosen(
  client: KubernetesClient,
  operators: readonly Operator[],
  names: readonly string[],
  installed: InstalledOperators,
  options: PreviewCommandOptions,
): Promise<Choice[]> {
  const named = names.filter((name) => !name.includes("/"));
  const choices: Choice[] = [];
  if (names.length === 0 || named.length > 0) {
    for (const operator of chosenOperators(operators, named)) {
      const why = named.length === 0 ? whyLeftOut(operator) : undefined;
      if (why === undefined) choices.push({ operator });
      else
        progress(
          `${operator.name}: left out, because ${why}. To include it: ${asTyped(`diff ${operator.name}`)}`,
        );
    }
  }
  for (const name of names.filter((each) => each.includes("/"))) {
    const { operator, object } = await liveObject(client, name, operators, installed, options);
    choices.push({ operator, objects: [object] });
  }
  return choices;
}
