import { type ChildProcess, spawn } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { engineFiles, LOOPS_FOLDER } from "../../../components/engineBundle";
import { programOf } from "../../../definition/handlerProgram";
import type { ObjectName } from "../../../runtime/base/objects";
import type { HandlerRequest } from "../../../runtime/handler/contract";
import type { Operator } from "../../../runtime/operator/definition";
import { DEFINITION_FILE, definitionFileContent } from "../../../runtime/programs/definitionFile";
import { type ArgoHalf, type POD_LAYOUT, RUNNER_ENVIRONMENT } from "../../../runtime/programs/layout";
import type { LogFields } from "../../../runtime/programs/logLine";
import { type PodSettings, pathOf, SETTINGS_VARIABLE } from "../../../runtime/programs/pod";
import type { Hint } from "../../../runtime/programs/resident/hints";
import { tellRunner, WAKE_PATH } from "../../../runtime/programs/wakeRequest";
import { HandlerContainer, shells } from "../../unit/support/handlerContainer";
import type { TestCluster } from "./cluster";

/** A line of a runner's log. */
export interface LogEntry extends LogFields {
  readonly time: string;
  readonly level: string;
  readonly message: string;
}

/** How a {@link ResidentPod} is started. */
export interface ResidentPodOptions extends Omit<PodSettings, "root"> {
  readonly name: string;
  /** Another way to the API server. @default the cluster's own */
  readonly server?: string | undefined;
  /** The halves of Argo that are missing. @default none */
  readonly without?: readonly ArgoHalf[];
  /** The address of a collector for traces. @default there are none */
  readonly traces?: string;
}

/** The operator that a {@link ResidentPod} runs, and where. */
export interface PodOwner {
  readonly cluster: TestCluster;
  readonly operator: Operator;
  readonly namespace: string;
}

/**
 * A pod of a resident operator without a kubelet: the engine's bundle and the handler's shell as two processes that
 * share folders, with a service account's token where a pod has it.
 */
export class ResidentPod {
  readonly log: LogEntry[] = [];
  private runner: ChildProcess | undefined;

  private constructor(
    private readonly owner: PodOwner,
    private readonly options: ResidentPodOptions,
    private readonly root: string,
    readonly container: HandlerContainer,
  ) {}

  static async start(owner: PodOwner, options: ResidentPodOptions): Promise<ResidentPod> {
    const { operator, cluster, namespace } = owner;
    const [shell] = shells();
    if (!shell) throw new Error("this machine has no shell");
    const container = new HandlerContainer(shell, programOf(operator, LOOPS_FOLDER), operator.env);
    // The container's folder is what a pod has at /argosy.
    const root = mkdtempSync(path.join(tmpdir(), "argosy-root-"));
    symlinkSync(container.root, path.join(root, "argosy"));
    const at = (what: keyof typeof POD_LAYOUT) => pathOf({ root }, what);
    cpSync(operator.folder, at("handler"), { recursive: true });
    for (const folder of ["definition", "handlerToken", "serviceAccount"] as const) {
      mkdirSync(at(folder), { recursive: true });
    }
    writeFileSync(path.join(at("engine"), "engine.js"), engineFiles()["engine.js"]);
    writeFileSync(path.join(at("definition"), DEFINITION_FILE), definitionFileContent(operator));
    const { status } = await cluster.api.post<{ status: { token: string } }>(
      `/api/v1/namespaces/${namespace}/serviceaccounts/${operator.name}-runner/token`,
      { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: 3600 } },
    );
    const account = {
      token: status.token,
      namespace,
      "ca.crt": cluster.connection.certificateAuthority ?? "",
    };
    for (const [name, content] of Object.entries(account)) {
      writeFileSync(path.join(at("serviceAccount"), name), content);
    }
    const pod = new ResidentPod(owner, options, root, container);
    pod.startRunner();
    return pod;
  }

  /** Starts the handler's container. Until then the runner is alone. */
  startHandler(): this {
    this.container.start();
    return this;
  }

  /** Starts the runner's container, or starts it again. */
  startRunner(): this {
    const { owner, root, options } = this;
    const { name, host, server: way, without = [], traces = "", ...settings } = options;
    const server = new URL(way ?? owner.cluster.connection.server);
    const engine = path.join(pathOf({ root }, "engine"), "engine.js");
    const runner = spawn(process.execPath, [engine, "resident"], {
      cwd: "/",
      env: {
        [RUNNER_ENVIRONMENT.namespace]: owner.namespace,
        [RUNNER_ENVIRONMENT.pod]: name,
        [RUNNER_ENVIRONMENT.address]: host,
        [RUNNER_ENVIRONMENT.runsKept]: "3600",
        [RUNNER_ENVIRONMENT.failedRunsKept]: "86400",
        [RUNNER_ENVIRONMENT.instanceId]: "",
        [RUNNER_ENVIRONMENT.without]: without.join(","),
        [RUNNER_ENVIRONMENT.tracesEndpoint]: traces,
        [SETTINGS_VARIABLE]: JSON.stringify({ ...settings, host, root }),
        KUBERNETES_SERVICE_HOST: server.hostname,
        KUBERNETES_SERVICE_PORT: server.port,
      },
      stdio: ["ignore", "pipe", process.env.ARGOSY_TEST_VERBOSE ? "inherit" : "ignore"],
    });
    createInterface({ input: runner.stdout }).on("line", (line) => {
      if (process.env.ARGOSY_TEST_VERBOSE) process.stderr.write(`${name}: ${line}\n`);
      this.log.push(JSON.parse(line) as LogEntry);
    });
    this.runner = runner;
    return this;
  }

  /** Its name, which is part of its identity. */
  get name(): string {
    return this.options.name;
  }

  get isRunning(): boolean {
    const { runner } = this;
    return runner !== undefined && runner.exitCode === null && runner.signalCode === null;
  }

  /** Sends a signal to the runner, and does not wait. */
  signal(signal: NodeJS.Signals): void {
    this.runner?.kill(signal);
  }

  /** The messages of its log. */
  get messages(): string[] {
    return this.log.map(({ message }) => message);
  }

  /** What its handler was asked about an object. */
  calls(name: string): HandlerRequest[] {
    const file = path.join(this.container.folder, "calls.jsonl");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.endsWith("}"));
    return lines
      .map((line) => JSON.parse(line) as HandlerRequest)
      .filter(({ object }) => object.metadata.name === name);
  }

  /** Sends a hint as a Sensor does. @returns the code of the answer */
  async hint(hint: Hint): Promise<number> {
    const url = `http://${this.options.host}:${this.options.ports.hints}/hints`;
    return (await fetch(url, { method: "POST", body: JSON.stringify(hint) })).status;
  }

  /** Asks for an object as the intake does. @returns its result */
  wake(name: ObjectName): ReturnType<typeof tellRunner> {
    const { host, ports } = this.options;
    return tellRunner(name, {
      host: host ?? "localhost",
      port: ports.hints,
      path: WAKE_PATH,
      timeoutMs: 5_000,
    });
  }

  /** What a kubelet asks. @returns the code of the answer */
  async probe(path: "/livez" | "/readyz"): Promise<number> {
    return (await this.telemetry(path)).status;
  }

  /** The value of a metric, summed over the series whose labels contain this text. */
  async metric(name: string, labels = ""): Promise<number> {
    const text = await (await this.telemetry("/metrics")).text();
    const lines = text.split("\n").filter((line) => line.startsWith(`${name}{`) && line.includes(labels));
    return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" "))), 0);
  }

  /** A file that it has put there for its handler. */
  handlerTokenFile(name: string): string {
    return path.join(pathOf({ root: this.root }, "handlerToken"), name);
  }

  /** Sends a signal to the runner and waits for its end. @returns its exit code */
  async end(signal: "SIGTERM" | "SIGKILL"): Promise<number | null> {
    const { runner } = this;
    if (!runner || !this.isRunning) return runner?.exitCode ?? null;
    const exited = new Promise<number | null>((resolve) => runner.once("exit", resolve));
    runner.kill(signal);
    return exited;
  }

  async dispose(): Promise<void> {
    await this.end("SIGKILL");
    await this.container.remove();
    rmSync(this.root, { recursive: true, force: true });
  }

  private telemetry(path: string): Promise<Response> {
    return fetch(`http://${this.options.host}:${this.options.ports.metrics}${path}`);
  }
}
