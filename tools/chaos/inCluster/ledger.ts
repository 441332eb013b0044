import type { Manifest } from "../../../runtime/base/objects";
import { parseLedger } from "../effects";
import type { Effects } from "../oracle";
import type { Administrator } from "./administrator";

const NAME = "ledger";
const PORT = 8080;

/** A server that keeps every received line, and returns the lines from a given number on. */
const PROGRAM = `
const lines = [];
require("node:http").createServer((request, response) => {
  if (request.method === "GET") {
    const from = Number(new URL(request.url, "http://ledger").searchParams.get("from"));
    return response.end(JSON.stringify(lines.slice(from)));
  }
  let body = "";
  request.on("data", (chunk) => { body += chunk; });
  request.on("end", () => { lines.push(body); response.end(); });
}).listen(${PORT});
`;

/** The system outside of Kubernetes, in a pod. It has no faults, and forgets nothing. */
export class Ledger {
  private readonly lines: string[] = [];

  constructor(
    private readonly administrator: Administrator,
    private readonly namespace: string,
  ) {}

  /** The address to which handlers post their entries. */
  get url(): string {
    return `http://${NAME}.${this.namespace}.svc:${PORT}/`;
  }

  /** Its labels. */
  static readonly labels = { app: NAME };

  /** @param image of Node */
  async start(image: string): Promise<void> {
    const metadata = { name: NAME, namespace: this.namespace, labels: Ledger.labels };
    const pod: Manifest = {
      ...{ apiVersion: "v1", kind: "Pod", metadata },
      spec: {
        securityContext: { runAsNonRoot: true, runAsUser: 1000 },
        containers: [
          {
            name: NAME,
            image,
            command: ["node", "-e", PROGRAM],
            resources: { requests: { cpu: "100m" } },
            readinessProbe: { tcpSocket: { port: PORT }, periodSeconds: 1 },
          },
        ],
      },
    };
    const service: Manifest = {
      ...{ apiVersion: "v1", kind: "Service", metadata },
      spec: { selector: Ledger.labels, ports: [{ port: PORT }] },
    };
    await this.administrator.apply(pod);
    await this.administrator.apply(service);
  }

  /** All effects. */
  async read(): Promise<Effects> {
    const path = `/api/v1/namespaces/${this.namespace}/pods/${NAME}:${PORT}/proxy/?from=${this.lines.length}`;
    this.lines.push(...(await this.administrator.client.read<string[]>(path)));
    return parseLedger(this.lines.join("\n"));
  }
}
