import { Agent, request } from "node:https";
import { readConnection } from "./connection";

/** The API server's answer. */
export interface Answer {
  /** HTTP status. */
  readonly status: number;
  /** Body as text. */
  readonly text: string;
}

const timeoutMilliseconds = 5_000;

/**
 * The few calls that the start of a control plane needs, with cluster-admin rights. Unlike the engine's client, this client
 * accepts answers that are not JSON, and soon gives up on a server that does not answer, because another program may have the
 * port.
 */
export class ApiClient {
  private constructor(
    private readonly server: string,
    private readonly agent: Agent,
  ) {}

  /**
   * @param server "https://127.0.0.1:PORT"
   * @throws Error as long as kwokctl has not created the certificates
   */
  static async open(server: string, directory: string): Promise<ApiClient> {
    const {
      certificateAuthority: ca,
      certificate: cert,
      privateKey: key,
    } = await readConnection(server, directory);
    return new ApiClient(server, new Agent({ ca, cert, key, keepAlive: true }));
  }

  /** @throws Error if there is no answer. A refusal is an answer */
  call(method: "GET" | "POST", path: string, body?: object): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const options = { method, agent: this.agent, headers: { "Content-Type": "application/json" } };
      const outgoing = request(
        this.server + path,
        { ...options, timeout: timeoutMilliseconds },
        (incoming) => {
          let text = "";
          incoming.setEncoding("utf8");
          incoming.on("data", (part: string) => {
            text += part;
          });
          incoming.on("end", () => resolve({ status: incoming.statusCode ?? 0, text }));
          incoming.on("error", reject);
        },
      );
      outgoing.on("error", reject);
      outgoing.on("timeout", () =>
        outgoing.destroy(new Error(`${this.server}${path} did not answer in time`)),
      );
      outgoing.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  /** Whether the answer to a GET is 200. Also false if there is no answer. */
  async succeeds(path: string): Promise<boolean> {
    return this.call("GET", path).then(
      (answer) => answer.status === 200,
      () => false,
    );
  }

  /** Closes the connections that are kept open. */
  close(): void {
    this.agent.destroy();
  }
}
