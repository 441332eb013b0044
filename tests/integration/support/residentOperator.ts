import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import { buildAccess } from "../../../components/manifests/operator/rbac";
import type { OperatorDefinition } from "../../../definition/schema";
import type { Manifest } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";
import type { ArgoHalf } from "../../../runtime/programs/layout";
import type { PodSettings } from "../../../runtime/programs/pod";
import { loadDefinition } from "../../unit/operatorFolder";
import { samplePlatform } from "../../unit/support/platform";
import type { TestCluster } from "./cluster";
import { namespace } from "./manifests";
import { ResidentPod, type ResidentPodOptions } from "./residentPod";
import { customResourceDefinitionOf, type ObjectPlan } from "./testOperator";

/** The settings of a test's runners, other than their place. */
export type ResidentSettings = Pick<ResidentPodOptions, "leaseSeconds" | "without" | "traces">;

/**
 * An operator whose runners are processes of the engine's bundle, each with a handler's container of its own, as in
 * pods. It has the accounts and rights that `pulumi up` gives it, and no CRD until a test creates it.
 */
export class ResidentOperator {
  private readonly pods: ResidentPod[] = [];

  private constructor(
    readonly cluster: TestCluster,
    readonly operator: Operator,
    /** Where its runners live. */
    readonly namespace: string,
    private readonly settings: ResidentSettings & Pick<PodSettings, "ports">,
  ) {}

  static async install(
    cluster: TestCluster,
    {
      handlerFiles = {},
      ...definition
    }: Partial<OperatorDefinition> & {
      readonly name: string;
      /** @default main.js, which is plannedHandler.js */
      readonly handlerFiles?: Readonly<Record<string, string>>;
    },
    settings: ResidentSettings,
  ): Promise<ResidentOperator> {
    const { name } = definition;
    const folder = path.join(mkdtempSync(path.join(tmpdir(), "argosy-resident-")), name);
    mkdirSync(folder);
    writeFileSync(path.join(folder, "crd.yaml"), JSON.stringify(customResourceDefinitionOf({ name })));
    const planned = readFileSync(path.join(__dirname, "plannedHandler.js"), "utf8");
    for (const [file, content] of Object.entries({ "main.js": planned, ...handlerFiles })) {
      writeFileSync(path.join(folder, file), content);
    }
    const operator = loadDefinition(folder, {
      crd: "crd.yaml",
      handler: { image: "node:22-alpine", command: [process.execPath, "main.js"] },
      children: ["v1/ConfigMap"],
      ...definition,
    });
    const home = `${name}-runners`;
    const has = (half: ArgoHalf) => !settings.without?.includes(half);
    const argo = { argoEvents: has("events"), argoWorkflows: has("workflows") };
    const platform = samplePlatform({ namespace: home, instanceId: "", ...argo });
    const access = buildAccess(operator, {
      platform,
      placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
    });
    for (const manifest of [namespace(home), ...Object.values(access)]) await cluster.api.apply(manifest);
    const ports = { hints: await freePort(), metrics: await freePort() };
    return new ResidentOperator(cluster, operator, home, { ...settings, ports });
  }

  /** The CRD, as `pulumi up` makes it. */
  get kind(): Manifest {
    return buildCustomResourceDefinition(this.operator);
  }

  /** A custom resource. */
  object(name: string, spec: ObjectPlan, namespace: string): Manifest {
    const { group, version, kind } = this.operator.customResource;
    return { apiVersion: `${group}/${version}`, kind, metadata: { name, namespace }, spec };
  }

  /**
   * Starts a pod with an address of its own on this machine.
   * @param server another way to the API server. @default the cluster's own
   */
  async start(server?: string): Promise<ResidentPod> {
    const ordinal = this.pods.length;
    const pod = await ResidentPod.start(this, {
      ...this.settings,
      server,
      name: `${this.operator.name}-runner-${ordinal}`,
      // All of 127.0.0.0/8 is this machine; the second number keeps two runs of these tests apart.
      host: `127.${1 + (process.pid % 250)}.0.${ordinal + 1}`,
    });
    this.pods.push(pod);
    return pod;
  }

  /** Ends what still runs, and removes every folder. */
  async dispose(): Promise<void> {
    await Promise.all(this.pods.map((pod) => pod.dispose()));
    rmSync(path.dirname(this.operator.folder), { recursive: true, force: true });
  }
}

/** A port that is free on every address. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port is free");
  return address.port;
}
