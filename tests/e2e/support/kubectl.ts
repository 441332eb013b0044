import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:https";
import { promisify } from "node:util";
import { commandOnPath } from "../../../definition/commandOnPath";

/** Skips the test with a line where there is no kubectl. */
export function needKubectl(test: Mocha.Context): void {
  if (commandOnPath("kubectl")) return;
  process.stderr.write("      skipped: no program kubectl is on PATH\n");
  test.skip();
}

/**
 * Runs kubectl and gives its standard output.
 * @throws Error where it does not end with 0
 */
export async function kubectl(...args: string[]): Promise<string> {
  return (await promisify(execFile)("kubectl", args)).stdout;
}

/** Does something with a local port behind which a Service is. */
export async function withPort<Result>(
  namespace: string,
  service: string,
  port: number,
  use: (localPort: number) => Promise<Result>,
): Promise<Result> {
  const args = ["port-forward", "--namespace", namespace, `service/${service}`, `:${port}`];
  const child = spawn("kubectl", args, { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const [line] = await Promise.race([
      once(child.stdout, "data"),
      once(child, "close").then(() => Promise.reject(new Error("kubectl port-forward has ended"))),
    ]);
    const [, localPort] = /127\.0\.0\.1:(\d+)/.exec(String(line)) ?? [];
    return await use(Number(localPort));
  } finally {
    child.kill();
  }
}

/**
 * Asks a server that has signed its certificate itself, with a token.
 */
export function askJson<Answer>(
  url: string,
  token: string,
  { method = "GET", body }: { method?: string; body?: unknown } = {},
): Promise<{ code: number; body: Answer }> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
    const asked = request(url, { method, headers, rejectUnauthorized: false }, (response) => {
      let text = "";
      response.setEncoding("utf8");
      response.on("data", (chunk: string) => {
        text += chunk;
      });
      response.on("end", () => {
        try {
          resolve({ code: response.statusCode ?? 0, body: JSON.parse(text) });
        } catch (error) {
          reject(error);
        }
      });
    }).on("error", reject);
    asked.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
