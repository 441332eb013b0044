import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { connectionFromKubeconfig } from "../../../preflight/kubeconfig";
import type { JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { temporaryFolder } from "../../support/temporaryFolder";
import { CommandProcess } from "../cliProcess";
import { Api } from "./api";
import { announceKind } from "./cluster";
import { customResourceDefinition, OPEN_SCHEMA } from "./manifests";
import { askForCluster } from "./sharedCluster";
import { conditionOf } from "./useOperator";

/** What tests of `argosy dev` work with: a program in a folder, a namespace of each test, and the command. */
export class DevBench {
  /** The program's. */
  folder = "";
  namespace = "";
  kubeconfig = "";
  api = undefined as unknown as Api;
  dev: CommandProcess | undefined;

  /** @param group of the kinds */
  constructor(private readonly group: string) {}

  definitionOf(kind: string): Manifest {
    return customResourceDefinition(this.group, kind, { spec: OPEN_SCHEMA, status: OPEN_SCHEMA });
  }

  /** Writes the operator of a kind. @param file of its handler. @returns where that is */
  write(kind: string, file: string, content: string, definition: object): string {
    const own = path.join(this.folder, "handlers", kind.toLowerCase());
    mkdirSync(path.join(own, "fixtures"), { recursive: true });
    const whole = { crd: "crd.yaml", handler: file, children: [], ...definition };
    writeFileSync(path.join(own, "operator.yaml"), JSON.stringify(whole));
    writeFileSync(path.join(own, "crd.yaml"), JSON.stringify(this.definitionOf(kind)));
    writeFileSync(path.join(own, file), content);
    return path.join(own, file);
  }

  /** Starts the command for the whole program. @param temporary its folder of temporary files. @default the program's folder */
  start(options: readonly string[], env: NodeJS.ProcessEnv = {}, temporary = this.folder): CommandProcess {
    const where = ["--kubeconfig", this.kubeconfig, "--project", this.folder, ...options];
    this.dev = new CommandProcess("npm", ["run", "dev", "--silent", "--", ...where], temporary, env);
    return this.dev;
  }

  object(kind: string, name = "one", spec: JsonObject = {}): Manifest {
    const metadata = { name, namespace: this.namespace };
    return { apiVersion: `${this.group}/v1`, kind, metadata, spec };
  }

  /** Waits until an object is ready. */
  ready(kind: string, name?: string): Promise<KubernetesObject> {
    return eventually(async () => {
      const found = await this.api.get(this.object(kind, name));
      assert.equal(conditionOf(found, "Ready").status, "True", this.dev?.stdout);
      return found;
    });
  }
}

/** Gives the tests of a suite a program whose operators are of these kinds. Its processes end with each test. */
export function useDev(group: string, kinds: readonly string[]): DevBench {
  const bench = new DevBench(group);
  for (const kind of kinds) announceKind(bench.definitionOf(kind));
  before(async () => {
    bench.kubeconfig = await askForCluster();
    bench.api = new Api(await connectionFromKubeconfig(bench.kubeconfig));
  });
  beforeEach(async () => {
    const [name = ""] = group.split(".");
    bench.folder = temporaryFolder();
    bench.namespace = await bench.api.newNamespace(name);
    writeFileSync(path.join(bench.folder, "Pulumi.yaml"), `name: ${name}\nruntime: nodejs\n`);
  });
  afterEach(() => bench.dev?.kill());
  after(() => bench.api?.close());
  return bench;
}
