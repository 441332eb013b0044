import type { IncomingMessage } from "node:http";
import { intakeEventOf } from "../../components/manifests/outside/intake";
import { namespacesFor, outsideEventsOf } from "../../components/manifests/outside/options";
import { isRecord, writeJson } from "../../runtime/base/json";
import { type JsonObject, kindAndName, type Manifest } from "../../runtime/base/objects";
import {
  builtIn,
  type Engine,
  Intake,
  type IntakeResult,
  type KubernetesClient,
  type Operator,
  takeBody,
} from "../../runtime/cli";
import { shellWord } from "../common/shellWord";
import { readAll } from "../fixtures/fixture";
import { FIELD_MANAGER } from "../local/installOperator";
import type { Answer } from "./answer";

const NAMESPACES = builtIn("v1", "Namespace");

const CODES: Readonly<Record<IntakeResult, number>> = {
  created: 201,
  known: 200,
  woken: 200,
  skipped: 200,
  absent: 404,
  refused: 422,
  contradicted: 409,
  postponed: 503,
};

/**
 * Makes an object of an event by the code of the intake, with its checks, its refusals and its Warnings, or wakes one. The request
 * takes the place of Argo's event source, bus and sensor: see {@link dataOf}.
 */
export async function takeEvent(
  request: IncomingMessage,
  {
    operator,
    name,
    engine,
    client,
    onEvent,
  }: {
    readonly operator: Operator;
    readonly name: string;
    /** That of the operator, which reconciles what is woken. */
    readonly engine: Engine;
    readonly client: Pick<KubernetesClient, "create" | "get" | "now">;
    readonly onEvent: (line: string) => void;
  },
): Promise<Answer> {
  const found = outsideEventsOf([operator]).find(({ event }) => event.name === name);
  if (!found) {
    const known = (operator.on ?? []).map((each) => each.name).join(", ") || "none";
    return { code: 404, text: `${operator.name} has no event ${name}. Known events: ${known}.` };
  }
  const notices: string[] = [];
  const made: Manifest[] = [];
  const woken: string[] = [];
  // The engine is in this process, so nothing is sent to a namespace.
  const event = intakeEventOf(found, "argosy-dev");
  // A new one for each event, since an edit may have changed the definition.
  const intake = new Intake({
    file: { installation: operator.installation, events: [event] },
    client: {
      now: () => client.now(),
      get: (...args) => client.get(...args),
      create: (resource, manifest, options) => {
        if (manifest.kind === event.kind) made.push(manifest);
        return client.create(resource, manifest, options);
      },
    },
    wake: async (_, object) => {
      woken.push(kindAndName(event.kind, object));
      const result = engine.isLeading ? engine.wake(object) : "leaderless";
      return result === "queued" ? "forwarded" : result === "full" ? "leaderless" : result;
    },
    instance: "argosy-dev",
    onNotice: (notice) => notices.push(notice),
  });
  const { type } = found.event;
  const result = await takeBody(request, found.subject, intake, (body) => ({
    data: dataOf(type, request, body),
  }));
  const [object] = made;
  const which = object ? kindAndName(object.kind, object.metadata) : woken[0];
  const skipped = result === "skipped" ? "the event does not meet when" : undefined;
  const text = `${result}: ${notices[0] ?? skipped ?? which ?? ""}`;
  onEvent(`${operator.name}: event ${name} ${text}`);
  return { code: CODES[result], text };
}

/**
 * What the source would make of a request. A webhook has the headers as Go writes them, and the body (argo-events,
 * eventsources/sources/webhook/start.go). To GitHub's body it adds two headers (eventsources/sources/github/start.go). The body of any
 * other source is the whole event.
 */
function dataOf(type: string, { headersDistinct }: IncomingMessage, body: unknown): unknown {
  const headers = Object.fromEntries(
    Object.entries(headersDistinct)
      // The token is that of argosy dev, and no sender's.
      .filter(([name]) => !["authorization", "host"].includes(name))
      .map(([name, values]) => [name.replace(/(?<=^|-)[a-z]/g, (letter) => letter.toUpperCase()), values]),
  );
  if (type === "webhook") return { header: headers, body };
  if (type !== "github" || !isRecord(body)) return body;
  const marks = (["X-GitHub-Event", "X-GitHub-Delivery"] as const).flatMap((name) => {
    const [value] = headersDistinct[name.toLowerCase()] ?? [];
    return value === undefined ? [] : [[name, value] as const];
  });
  return { headers, body: { ...body, ...Object.fromEntries(marks) } };
}

/**
 * Creates the missing namespaces in which events become objects.
 * @param client that of an embedded control plane. In a cluster, a program needs existing ones
 */
export async function provideNamespaces(
  client: Pick<KubernetesClient, "apply">,
  { on = [] }: Operator,
): Promise<void> {
  for (const name of new Set(on.flatMap(namespacesFor)))
    await client.apply(
      NAMESPACES,
      { apiVersion: "v1", kind: "Namespace", metadata: { name } },
      { fieldManager: FIELD_MANAGER },
    );
}

/**
 * A command for each event of the operators that sends it, with the body and the headers of its first fixture that becomes an object.
 * @param url that of the local server
 */
export function eventCommands(operators: readonly Operator[], url: string, token: string): string[] {
  return operators.flatMap((operator) => {
    const { on = [] } = operator;
    if (on.length === 0) return [];
    return on.map(({ name, type }) => {
      const event = exampleOf(operator, name);
      const given = (type === "webhook" ? event["header"] : type === "github" && event["headers"]) || {};
      const headers = Object.entries(given).flatMap(([header, values]) =>
        [values].flat().map((value) => `${header}: ${value}`),
      );
      const body = type === "webhook" || type === "github" ? (event["body"] ?? {}) : event;
      const options = [`Authorization: Bearer ${token}`, ...headers].map((each) => `-H ${shellWord(each)}`);
      return `curl ${options.join(" ")} --data ${shellWord(writeJson(body))} ${url}/events/${operator.name}/${name}`;
    });
  });
}

function exampleOf(operator: Operator, name: string): JsonObject {
  try {
    const { events } = readAll(operator.folder);
    return events.find(({ fixture }) => fixture.on === name && isRecord(fixture.object))?.fixture.event ?? {};
  } catch {
    // A broken fixture is for argosy test to report.
    return {};
  }
}
