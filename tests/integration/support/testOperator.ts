import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { localHandler } from "../../../cli/handler/localHandler";
import { installOperator, rolesInForce } from "../../../cli/local/installOperator";
import { connectionAs } from "../../../cli/local/serviceAccountToken";
import { runnerNameOf } from "../../../components/manifests/names";
import type { OperatorDefinition } from "../../../definition/schema";
import {
  CHILD_OF_LABEL,
  fieldManagerOf,
  finalizerOf,
  identityOf,
  leaseNameOf,
  memoryPrefixOf,
} from "../../../runtime/base/names";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { Engine } from "../../../runtime/engine/engine";
import type { EngineOptions } from "../../../runtime/engine/engineOptions";
import type { HandlerRequest } from "../../../runtime/handler/contract";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import type { Operator } from "../../../runtime/operator/definition";
import type { ReconcileReport } from "../../../runtime/reconcile/report";
import { memoryResourceOf } from "../../../runtime/remember/memoryKind";
import type { Reference } from "../../../tools/objects";
import { loadDefinition } from "../../unit/operatorFolder";
import type { TestCluster } from "./cluster";

/** What the planned handler does when it is asked; by default it answers that there are to be no children. */
export interface Plan {
  /** "$CONTROLLER" in it becomes the identity of the controller that asks. */
  readonly answer?: JsonObject;
  /** A line, or several, to write instead of an answer. "$ID" in it becomes the request's id. */
  readonly raw?: string;
  /** The length of a line to write instead of an answer. */
  readonly bytes?: number;
  readonly delayMs?: number;
  /** Never answer. */
  readonly hang?: boolean;
  /** Answer only when the test releases the object: see {@link TestOperator.release}. */
  readonly holds?: boolean;
  readonly exitCode?: number;
  /** What to write to standard error first. */
  readonly log?: string;
}

/** A plan for either event: the spec of a test operator's objects. */
export interface ObjectPlan extends Plan {
  /** What to do when asked to finalize. @default answer that all is finalized */
  readonly finalize?: Plan;
}

/** What a {@link TestOperator} is made of. */
export interface TestOperatorOptions extends Partial<Omit<OperatorDefinition, "crd" | "handler">> {
  /** The operator's name; its kind is made of it. Unique in a mocha run. */
  readonly name: string;
  /** Its custom resource's kind is made of this instead of its name: for two operators of one kind. */
  readonly kindName?: string;
  /** The API group of its custom resource. @default made of the name of the kind */
  readonly group?: string;
  /** Names that it had before. */
  readonly formerNames?: string[];
  /** Whether its CRD and roles are installed. Otherwise it works with the existing ones. @default true */
  readonly installs?: boolean;
  /** The source of main.js. @default plannedHandler.js */
  readonly handler?: string;
  /** @default "Namespaced" */
  readonly scope?: "Namespaced" | "Cluster";
  /** The author's schema of the spec. @default any fields */
  readonly specSchema?: JsonObject;
  /** The author's schema of the status. @default none */
  readonly statusSchema?: JsonObject;
}

/** How a controller of a test is started. */
export interface TestControllerOptions
  extends Pick<EngineOptions, "leaseSeconds" | "usedPollMs" | "traces" | "heapBudget" | "runs" | "program"> {
  /** The definition that this controller was deployed with. @default the installed one */
  readonly operator?: Operator;
  /** @default "one" */
  readonly identity?: string;
  /** Another way to the API server. @default the runner's service account, directly */
  readonly connection?: ClusterConnection;
}

/** A controller that runs, and what it told. */
export interface TestController {
  readonly controller: Engine;
  /** Resolves when it watches; it may lead a moment later. */
  readonly started: Promise<void>;
  readonly reports: readonly ReconcileReport[];
  readonly notices: readonly string[];
  /** The reports of one object. */
  reportsOf(name: string): ReconcileReport[];
  /** The value of a metric, summed over the series that carry these labels. */
  metric(name: string, labels?: Record<string, string>): Promise<number>;
  /** Stops it gracefully. Idempotent. @param graceMs how long work in progress may take. @default for ever */
  stop(graceMs?: number): Promise<void>;
}

const VERSION = "v1";

/**
 * An operator that a test has made up: a folder with a CRD and a handler, loaded as an author's own and installed
 * with the CRD and the roles that `pulumi up` would create. Its controllers run with these rights alone.
 */
export class TestOperator {
  private readonly controllers: TestController[] = [];

  private constructor(
    readonly cluster: TestCluster,
    readonly operator: Operator,
    /** The namespace of the service account and the lease. */
    readonly runnerNamespace: string,
    /** The runner's service account. */
    readonly connection: ClusterConnection,
  ) {}

  /** Writes, loads and installs an operator. */
  static async install(cluster: TestCluster, options: TestOperatorOptions): Promise<TestOperator> {
    const { name, kindName: _, group: __, scope: ___, ...others } = options;
    const { specSchema: ____, statusSchema: _____, handler, installs = true, ...definition } = others;
    const folder = path.join(mkdtempSync(path.join(tmpdir(), "argosy-engine-")), name);
    mkdirSync(path.join(folder, "plans"), { recursive: true });
    const source = handler ?? readFileSync(path.join(__dirname, "plannedHandler.js"), "utf8");
    writeFileSync(path.join(folder, "main.js"), source);
    const isOwnKind = options.watch === undefined;
    if (isOwnKind)
      writeFileSync(path.join(folder, "crd.yaml"), JSON.stringify(customResourceDefinitionOf(options)));
    const operator = loadDefinition(folder, {
      ...(isOwnKind && { crd: "crd.yaml" }),
      handler: { image: "node:22-alpine", command: ["node", "main.js"] },
      children: ["v1/ConfigMap"],
      ...definition,
    });
    const namespace = runnerNameOf(name);
    const connection = connectionAs({ namespace, name: runnerNameOf(name) }, cluster.connection);
    const installed = new TestOperator(cluster, operator, namespace, connection);
    if (installs) await installed.grant();
    return installed;
  }

  /** Installs it as `pulumi up --refresh` would: namespaces, CRD and roles that are missing come back. */
  async grant(): Promise<void> {
    const { operator, runnerNamespace: namespace } = this;
    await installOperator({ client: this.cluster.api.client, operator, namespace });
    const client = new KubernetesClient(this.connection);
    await rolesInForce(client, { operator, namespace });
    client.close();
  }

  /** The field manager of everything that it applies. */
  get fieldManager(): string {
    return fieldManagerOf(this.operator);
  }

  /** What it puts on objects where its handler finalizes. */
  get finalizer(): string {
    return finalizerOf(this.operator);
  }

  /** What it puts on objects that have children where no owner reference reaches. */
  get elsewhereFinalizer(): string {
    return finalizerOf(this.operator, "elsewhere");
  }

  /** The labels that every child of it bears. */
  get childLabels(): Record<string, string> {
    return { [CHILD_OF_LABEL]: identityOf(this.operator) };
  }

  /** Its Lease. */
  get lease(): Reference {
    const metadata = { name: leaseNameOf(this.operator), namespace: this.runnerNamespace };
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
  }

  /** What it remembers of an object that is not its own. */
  memoryOf({ metadata: { uid } }: KubernetesObject): Reference {
    const { apiVersion, kind } = memoryResourceOf(this.operator);
    const name = `${memoryPrefixOf(this.operator)}${uid}`;
    return { apiVersion, kind, metadata: { name, namespace: this.runnerNamespace } };
  }

  /** A custom resource of this operator's kind. */
  object(name: string, spec: ObjectPlan = {}, namespace?: string): Manifest {
    const { group, kind } = this.operator.customResource;
    const metadata = { name, ...(namespace && { namespace }) };
    return { apiVersion: `${group}/${VERSION}`, kind, metadata, spec };
  }

  /** Changes the handler's mind about an object without changing the object. */
  plan(name: string, plan: ObjectPlan): void {
    const file = path.join(this.operator.folder, "plans", `${name}.json`);
    // By a rename, so that the handler never reads half of it.
    writeFileSync(`${file}.new`, JSON.stringify(plan));
    renameSync(`${file}.new`, file);
  }

  /** Lets the object's spec decide again. */
  unplan(name: string): void {
    rmSync(path.join(this.operator.folder, "plans", `${name}.json`), { force: true });
  }

  /** Lets the handler answer about an object whose plan holds it. */
  release(name: string): void {
    writeFileSync(path.join(this.operator.folder, "plans", `${name}.released`), "");
  }

  /** What the handler was asked about an object, in that order, and when, if it is the planned handler. */
  calls(name: string): (HandlerRequest & { readonly askedAt?: number })[] {
    const file = path.join(this.operator.folder, "calls.jsonl");
    if (!existsSync(file)) return [];
    return readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.endsWith("}"))
      .map((line) => JSON.parse(line) as HandlerRequest & { readonly askedAt?: number })
      .filter(({ object }) => object.metadata.name === name);
  }

  /** Starts a controller of this operator; it watches when this resolves, and may lead a moment later. */
  async start(options: TestControllerOptions = {}): Promise<TestController> {
    const controller = this.launch(options);
    await controller.started;
    return controller;
  }

  /** Starts a controller of this operator without waiting for anything. */
  launch(options: TestControllerOptions = {}): TestController {
    const { identity = "one", connection = this.connection, leaseSeconds } = options;
    const { usedPollMs, traces, heapBudget, runs, program } = options;
    const reports: ReconcileReport[] = [];
    const notices: string[] = [];
    const controller = new Engine({
      operator: options.operator ?? this.operator,
      connection,
      ...(runs
        ? { runs }
        : { transport: localHandler(this.operator, { ...this.operator.env, CONTROLLER: identity }) }),
      namespace: this.runnerNamespace,
      identity,
      ...(leaseSeconds !== undefined && { leaseSeconds }),
      program,
      ...(usedPollMs !== undefined && { usedPollMs }),
      ...(traces && { traces }),
      ...(heapBudget !== undefined && { heapBudget }),
      onReport: (report) => void reports.push(report),
      onNotice: (notice) => void notices.push(notice),
    });
    let stopped: Promise<void> | undefined;
    const started = controller.start();
    // Who launches it may never ask.
    started.catch(() => {});
    const running: TestController = {
      controller,
      started,
      reports,
      notices,
      reportsOf: (name) => reports.filter((report) => report.name === name),
      metric: (name, labels) => readMetric(controller, name, labels),
      stop: (graceMs) => {
        stopped ??= controller.stop(graceMs);
        return stopped;
      },
    };
    this.controllers.push(running);
    return running;
  }

  /**
   * Stops its controllers and removes its folder. What it has in the cluster stays: the cluster itself goes.
   * @param graceMs how long work in progress may take. @default for ever
   */
  async dispose(graceMs?: number): Promise<void> {
    await Promise.all(this.controllers.map((controller) => controller.stop(graceMs)));
    rmSync(path.dirname(this.operator.folder), { recursive: true, force: true });
  }
}

async function readMetric(
  { metrics }: Engine,
  name: string,
  labels: Record<string, string> = {},
): Promise<number> {
  const metric = await metrics.registry.getSingleMetric(name)?.get();
  if (!metric) throw new Error(`there is no metric ${name}`);
  return metric.values
    .filter((value) =>
      Object.entries(labels).every(([key, wanted]) => (value.labels as JsonObject)[key] === wanted),
    )
    .reduce((sum, { value }) => sum + value, 0);
}

/** The CustomResourceDefinition of a test operator, as its author writes it. */
export function customResourceDefinitionOf({
  name,
  kindName = name,
  // With each change of a kind, the API server writes the documents of its whole group again.
  group = `${kindName.split("-")[0]}.example.com`,
  scope,
  specSchema,
  statusSchema,
}: TestOperatorOptions): Manifest {
  const kind = kindName
    .split("-")
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join("");
  const plural = `${kind.toLowerCase()}s`;
  const properties = {
    spec: specSchema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true },
    ...(statusSchema && { status: statusSchema }),
  };
  const schema = { openAPIV3Schema: { type: "object", properties } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: scope ?? "Namespaced",
      names: { kind, plural },
      versions: [{ name: VERSION, served: true, storage: true, schema }],
    },
  };
}
