import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { listen } from "../../runtime/base/http/listen";
import { readBody } from "../../runtime/base/http/readBody";
import { isRecord, readJson } from "../../runtime/base/json";
import { answerMetrics, type KubernetesClient } from "../../runtime/cli";
import { announceDevProcess } from "../cluster/devProcesses";
import { CommandError } from "../common/commandError";
import { portRefusal } from "../controlPlane/ports";
import type { Answer } from "./answer";
import type { DevRecord } from "./devRecord";
import { takeEvent } from "./outsideEvents";
import { replayNow } from "./replayNow";
import type { Running } from "./workshop";

/** The server of `argosy dev` on this machine. */
export interface LocalServer {
  /** "http://127.0.0.1:PORT" */
  readonly url: string;
  /** What a request must know, except one for the metrics: `Authorization: Bearer`. Another one at each start. */
  readonly token: string;
  close(): void;
}

/** What the server answers from. */
export interface LocalServerOptions {
  /** 0: any free one. */
  readonly port: number;
  /** The operators that run. Called for each request: engines come and go. */
  readonly running: () => readonly Running[];
  readonly record: DevRecord;
  /** Creates the objects of events. */
  readonly client: Pick<KubernetesClient, "create" | "get" | "now" | "server">;
  /** Called with each event and its result. */
  readonly onEvent: (line: string) => void;
}

const HOST = "127.0.0.1";
const MOST_BYTES = 64 * 1024;
const FORBIDDEN: Answer = {
  code: 401,
  text: "The token is missing or wrong. Send the header that argosy dev prints.",
};
const UNKNOWN: Answer = { code: 404, text: "argosy dev does not know this path." };

/**
 * Answers on this machine alone:
 *
 * - `/metrics`: the metrics of all engines, without the token.
 * - `POST /events/OPERATOR/EVENT`: an event of `on`, which becomes its object.
 * - `/runs`, `/lines?after=N` and `POST /replay`: the commands runs, logs and replay.
 *
 * @throws CommandError if the port cannot be used
 */
export async function startLocalServer(options: LocalServerOptions): Promise<LocalServer> {
  const { port, client } = options;
  const token = randomBytes(16).toString("hex");
  const listener = await listen({ host: HOST, port }, (request, response) => {
    void serve(request, response, token, options).catch(() => response.destroy());
  }).catch((error: Error) => {
    throw new CommandError(portRefusal(port, "--port", error));
  });
  // The server alone must not keep the process alive.
  listener.unref();
  const url = `http://${HOST}:${listener.port}`;
  const conceal = announceDevProcess({ server: client.server, url, token });
  const close = () => {
    conceal();
    void listener.close();
  };
  return { url, token, close };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  token: string,
  options: LocalServerOptions,
): Promise<void> {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  if (path === "/metrics") {
    const registries = options.running().map(({ controller }) => controller.metrics.registry);
    return answerMetrics(response, registries);
  }
  const { code, text, json } = isAllowed(request, token)
    ? await answer(request, path, query, options)
    : FORBIDDEN;
  // The unread rest of a body would be taken for the next request.
  if (!request.complete) response.setHeader("connection", "close");
  response.writeHead(code, { "content-type": json === undefined ? "text/plain" : "application/json" });
  response.end(json === undefined ? `${text}\n` : JSON.stringify(json));
}

async function answer(
  request: IncomingMessage,
  path: string,
  query: string,
  { running, record, client, onEvent }: LocalServerOptions,
): Promise<Answer> {
  const [, root, operator = "", event = "", ...more] = path.split("/");
  const isPost = request.method === "POST";
  if (root === "events" && more.length === 0) {
    if (!isPost) return { code: 405, text: "Send the event with POST." };
    const found = running().find((each) => each.operator.name === operator);
    if (found) {
      const { operator: its, controller: engine } = found;
      return takeEvent(request, { operator: its, name: event, engine, client, onEvent });
    }
    return { code: 404, text: `argosy dev runs no operator ${operator}.` };
  }
  if (path === "/runs") return { code: 200, json: record.runs() };
  if (path === "/lines") {
    const operators = running().map(({ operator: { name, customResource } }) => ({
      name,
      group: customResource.group,
      kind: customResource.kind,
    }));
    const after = Number(new URLSearchParams(query).get("after"));
    return { code: 200, json: { operators, lines: record.linesAfter(after) } };
  }
  if (path !== "/replay" || !isPost) return UNKNOWN;
  const body = readJson((await readBody(request, MOST_BYTES)) ?? "null");
  return isRecord(body) ? replayNow(body, running(), record) : UNKNOWN;
}

/** A page in a browser may send requests to this machine too, and so may other users of it. */
function isAllowed({ headers }: IncomingMessage, token: string): boolean {
  const hash = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(headers.authorization ?? ""), hash(`Bearer ${token}`));
}
