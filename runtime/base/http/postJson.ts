import { type RequestOptions, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";

/**
 * Posts JSON, by default on a connection of its own. Follows no redirection.
 * @param timeoutMs how long the answer may take
 * @returns the status code. The rest of the answer is not read
 * @throws Error if there is no answer, or none in time
 */
export function postJson(to: RequestOptions, body: string, timeoutMs: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const { protocol, agent = false } = to;
    const length = Buffer.byteLength(body);
    const headers = { ...to.headers, "content-type": "application/json", "content-length": length };
    const options = { ...to, agent, headers, method: "POST", signal: AbortSignal.timeout(timeoutMs) };
    const request = (protocol === "https:" ? requestHttps : requestHttp)(options, (response) => {
      response.on("error", () => {}).resume();
      resolve(response.statusCode ?? 0);
    });
    request.on("error", reject);
    request.end(body);
  });
}
