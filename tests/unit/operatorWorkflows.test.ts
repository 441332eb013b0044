import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { IMAGES } from "../../components/manifests/images";
import type { Container as PodContainer, Volume } from "../../components/manifests/kinds";
import { buildOperator } from "../../components/manifests/operator/operator";
import type { OperatorOptions } from "../../components/manifests/operator/options";
import { FUNCTION_IMAGES, type Operator } from "../../runtime/operator/definition";
import { POD_LAYOUT } from "../../runtime/programs/layout";
import { RUN_PARAMETERS } from "../../runtime/report/workflows";
import { temporaryFolder } from "../support/temporaryFolder";
import { operatorOptions, withFiles } from "./operatorManifests";
import { argoRelease } from "./support/argoSchemas";
import { assertEach } from "./support/lists";
import { samplePlatform } from "./support/platform";

type Container = Required<PodContainer>;

/** RBAC rules that give a handler a token. */
const RULES = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }];

/** What the tests read of a WorkflowTemplate. */
interface Spec {
  readonly serviceAccountName: string;
  readonly activeDeadlineSeconds: number;
  readonly automountServiceAccountToken?: boolean;
  readonly arguments: { readonly parameters: readonly { readonly name: string; readonly value: string }[] };
  readonly synchronization?: { readonly mutexes: readonly { readonly name: string }[] };
  readonly podSpecPatch?: string;
  readonly ttlStrategy?: Readonly<Record<string, number>>;
  readonly templates: readonly [Template, ...Template[]];
}

interface Template {
  readonly container?: Container;
  readonly containerSet?: { readonly containers: readonly (Container & { dependencies?: string[] })[] };
  readonly initContainers?: readonly Container[];
  readonly volumes?: readonly Volume[];
  readonly pendingTimeout?: string;
  readonly activeDeadlineSeconds?: number;
  readonly synchronization?: object;
  readonly podSpecPatch?: string;
  readonly retryStrategy?: object;
}

/** The manifests of an operator, with access to the specs of its WorkflowTemplates. */
function build(more: Partial<Operator>, options: OperatorOptions = operatorOptions()) {
  const { operator, files } = withFiles(more, { "main.py": "", "lib/util.py": "" }, options);
  const { parts: set } = buildOperator(operator, options, files);
  const specOf = (key: string) => set[key]?.spec as Spec;
  return { set, operator, files, specOf };
}

/** All containers of a WorkflowTemplate's first template. */
function containersOf({ templates: [template] }: Spec): Container[] {
  const { containerSet, container, initContainers = [] } = template;
  return [...initContainers, ...(containerSet?.containers ?? []), ...(container ? [container] : [])];
}

/** The fields of an operator with a schedule. */
const SCHEDULED: Partial<Operator> = {
  schedules: { nightly: { cron: "0 3 * * *", timeZone: "UTC", spreadSeconds: 60 } },
};

const TOKEN = POD_LAYOUT.serviceAccount;
/** On a platform whose pods have no init container of Argo's own. */
const INITLESS = operatorOptions({ platform: samplePlatform({ initlessPods: true }) });
const INSTANCE_ID = "workflows.argoproj.io/controller-instanceid";

describe("an operator's Workflow manifests", () => {
  it("have a run removed in time however it ended, even one whose pod a user deleted: its phase is Error", () => {
    const options = operatorOptions({ runsKeptSeconds: 60, failedRunsKeptSeconds: 600 });
    for (const execution of ["resident", "pod"] as const) {
      const { set } = build({ execution, resyncSeconds: 300 }, options);
      const templates = Object.values(set).filter(({ kind }) => kind === "WorkflowTemplate");
      assert.equal(templates.length, 1);
      for (const { spec } of templates)
        assert.deepStrictEqual((spec as Spec).ttlStrategy, {
          secondsAfterSuccess: 60,
          secondsAfterFailure: 600,
          secondsAfterCompletion: 600,
        });
    }
  });

  it("are compared with the schemas of the releases that are installed", () => {
    assert.equal(argoRelease("argo-events"), IMAGES.argoEvents.tag);
    assert.equal(argoRelease("argo-workflows"), IMAGES.workflowController.tag);
  });

  it("carry the instance id where there is one", () => {
    const labelled = (instanceId: string) => {
      const platform = { ...operatorOptions().platform, instanceId };
      const { set } = build({ execution: "pod" }, operatorOptions({ platform }));
      return set["template"]?.metadata.labels?.[INSTANCE_ID];
    };
    assert.equal(labelled("mine"), "mine");
    assert.equal(labelled(""), undefined);
  });
});

describe("a resident operator's WorkflowTemplate", () => {
  it("lets a schedule be chosen if the operator has any", () => {
    const [first, ...others] = (build(SCHEDULED).specOf("template").arguments?.parameters ?? []).toReversed();
    assert.deepStrictEqual(first, { name: "schedule", value: "", enum: ["", "nightly"] });
    assert.equal(others.length, Object.keys(RUN_PARAMETERS).length - 1);
  });
});

describe("the WorkflowTemplate of an operator with a pod for each run", () => {
  const { specOf } = build({ execution: "pod", timeoutSeconds: 100 });
  const spec = specOf("template");
  const [template] = spec.templates;
  const [shell, runner, handler] = template.containerSet?.containers ?? [];
  assert.ok(shell && runner && handler);

  it("starts the pair side by side, the engine as the container whose outputs count", () => {
    assert.deepStrictEqual([runner.name, handler.name], ["main", "handler"]);
    assert.deepStrictEqual(runner.dependencies, undefined);
    assert.deepStrictEqual(runner.command, [
      "node",
      "--min-semi-space-size=8",
      "/argosy/engine/engine.js",
      "run",
    ]);
  });

  it("brings the handler's shell while the engine starts: an init container would hold up both", () => {
    assert.equal(template.initContainers, undefined);
    assert.deepStrictEqual(
      [shell.name, shell.dependencies, handler.dependencies],
      ["handler-shell", undefined, ["handler-shell"]],
    );
  });

  it("has one container less for a function in its default image, which has a shell", () => {
    const handler = { image: FUNCTION_IMAGES.python, function: "main.py" };
    const [own] = build({ execution: "pod", handler }).specOf("template").templates;
    const containers = own.containerSet?.containers ?? [];
    assertEach(containers, ({ name, dependencies }) => [name, dependencies], [
      ["main", undefined],
      ["handler", undefined],
    ]);
    assert.ok(!own.volumes?.some(({ name }) => name === "handler-shell"));
    assert.deepStrictEqual(JSON.parse(own.podSpecPatch ?? ""), {
      "$setElementOrder/containers": ["main", "handler", "wait"].map((name) => ({ name })),
    });
  });

  it("tells by itself that the handler's shell runs: Argo's executor would notice a second later", () => {
    const folder = temporaryFolder();
    const [program = "", flag = "", line = ""] = shell.command;
    const shellEnds = (source: string) => {
      const here = line.replaceAll("/var/run/argo", folder).replaceAll("/argosy/handler-shell", folder);
      return spawnSync(program, [flag, here.replaceAll("/bin/busybox", source)], { encoding: "utf8" });
    };
    const exitCode = path.join(folder, "ctr/handler-shell/exitcode");

    const elsewhere = shellEnds(__filename);
    assert.deepStrictEqual([elsewhere.status, elsewhere.stderr], [0, ""], "were Argo's file elsewhere");

    mkdirSync(path.dirname(exitCode), { recursive: true });
    assert.notEqual(shellEnds(path.join(folder, "none")).status, 0);
    assert.equal(existsSync(exitCode), false, "there is no shell");

    assert.equal(shellEnds(__filename).status, 0);
    assert.equal(readFileSync(exitCode, "utf8").trim(), "0");
    assert.deepStrictEqual(readFileSync(path.join(folder, "busybox")), readFileSync(__filename));
  });

  it("lets the handler's shell come first, and what Argo waits with last", () => {
    assert.deepStrictEqual(JSON.parse(template.podSpecPatch ?? ""), {
      "$setElementOrder/containers": ["handler-shell", "main", "handler", "wait"].map((name) => ({ name })),
    });
  });

  it("lets Argo's container come first in a pod without an init container, because all others wait for it", () => {
    const own = build({ execution: "pod" }, INITLESS).specOf("template").templates[0];
    assert.deepStrictEqual(JSON.parse(own.podSpecPatch ?? ""), {
      "$setElementOrder/containers": ["supervisor", "handler-shell", "main", "handler"].map((name) => ({
        name,
      })),
    });
  });

  it("brings every volume that is mounted with the template itself", () => {
    for (const rules of [[], RULES]) {
      const own = build({ execution: "pod", rules }).specOf("template");
      const mounted = containersOf(own).flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
      assert.deepStrictEqual(new Set(own.templates[0].volumes?.map(({ name }) => name)), new Set(mounted));
    }
  });

  it("hides the token that Kubernetes mounts from all but the engine", () => {
    const covers = (more: Partial<Operator>) =>
      containersOf(build({ execution: "pod", ...more }).specOf("template")).map(
        ({ name, volumeMounts }) =>
          `${name}: ${volumeMounts.find(({ mountPath }) => mountPath === TOKEN)?.name}`,
      );
    assert.deepStrictEqual(covers({}), ["handler-shell: no-token", "main: undefined", "handler: no-token"]);
    assert.deepStrictEqual(covers({ rules: RULES }), [
      "handler-shell: handler-token",
      "main: undefined",
      "handler: handler-token",
    ]);
    // Argo's own containers need it.
    assert.equal(spec.automountServiceAccountToken, undefined);
  });

  it("runs one at a time of each object", () => {
    assert.deepStrictEqual(spec.synchronization, {
      mutexes: [{ name: "shop.{{workflow.parameters.namespace}}.{{workflow.parameters.name}}" }],
    });
  });

  it("lets Argo fill in the Workflow's name, and the parameters of the lock, alone", () => {
    const found = JSON.stringify(spec).match(/\{\{.*?\}\}/g);
    assert.deepStrictEqual(
      new Set(found),
      new Set(["{{workflow.parameters.namespace}}", "{{workflow.parameters.name}}", "{{workflow.name}}"]),
    );
  });

  it("limits how many runs have a pod at once, by a lock that no run holds while it waits for another", () => {
    assert.deepStrictEqual(template.synchronization, {
      semaphores: [{ configMapKeyRef: { name: "shop-run-limit", key: "pods" } }],
    });
    const limit = build({ execution: "pod", concurrency: 7 }).set["run-limit"];
    assert.deepStrictEqual([limit?.metadata.name, limit?.["data"]], ["shop-run-limit", { pods: "7" }]);
  });

  it("gives a run an hour for its turn, and its pod time for a second reconcile", () => {
    assert.equal(template.pendingTimeout, "3600s");
    assert.equal(
      template.retryStrategy,
      undefined,
      "Argo ignores a pendingTimeout if there is a retryStrategy",
    );
    const { activeDeadlineSeconds = 0 } = template;
    assert.ok(activeDeadlineSeconds > 300 + 2 * 60 && activeDeadlineSeconds < 3600);
    // The wait for the pod counts as well.
    assert.ok(spec.activeDeadlineSeconds >= 3600 + activeDeadlineSeconds);
    // Else a pod whose engine cannot start would run on, its object locked, until the deadline.
    assert.deepStrictEqual(handler.command.slice(2, 4), ["/argosy/engine/handler.sh", "--patience=300"]);
  });

  it("has an account of its own, which is not the runner's", () => {
    assert.equal(spec.serviceAccountName, "shop-run");
  });

  it("has Argo's own containers keep to it too, whatever the Workflow controller's configuration says", () => {
    const initless = build({ execution: "pod" }, INITLESS);
    for (const [each, expected] of [
      [spec, ["init", "wait"]],
      // A patch of a container that Argo does not make would add one without an image.
      [initless.specOf("template"), ["supervisor"]],
    ] as const) {
      const patch = JSON.parse(each.podSpecPatch ?? "{}") as Record<string, readonly Container[]>;
      const { initContainers = [], containers = [] } = patch;
      const named = [...initContainers, ...containers].map(({ name }) => name);
      assert.deepEqual(named, expected);
      for (const { securityContext } of [...initContainers, ...containers]) {
        assert.deepStrictEqual(securityContext, {
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ["ALL"] },
        });
      }
    }
  });
});
