import { type IncomingMessage, type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/**
 * Posts JSON, by default on a connection of its own. Follows no redirection.
 * @param timeoutMs how long the request and the body of its answer may take
 * @returns the answer, whose body the caller reads or drops
 * @throws Error if there is no answer, or none in time
 */
export function postJson(to: RequestOptions, body: string, timeoutMs: number): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const { protocol, agent = false } = to;
    const length = Buffer.byteLength(body);
    const headers = { ...to.headers, "content-type": "application/json", "content-length": length };
    const options = { ...to, agent, headers, method: "POST", signal: AbortSignal.timeout(timeoutMs) };
    const request = (protocol === "https:" ? requestHttps : requestHttp)(options, resolve);
    request.on("error", reject);
    request.end(body);
  });
}
