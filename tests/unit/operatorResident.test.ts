import assert from "node:assert/strict";
import type { Container, PodSpec } from "../../components/manifests/kinds";
import type { OperatorFiles } from "../../components/manifests/operator/configMaps";
import { buildRunner } from "../../components/manifests/operator/runner";
import { FUNCTION_IMAGES, type Operator } from "../../runtime/operator/definition";
import { readDefinitionFile } from "../../runtime/programs/definitionFile";
import { POD_LAYOUT, RUNNER_ENVIRONMENT } from "../../runtime/programs/layout";
import { readEnvironment } from "../../runtime/programs/pod";
import { writeFolder } from "./operatorFolder";
import { operatorOptions, withFiles } from "./operatorManifests";

const TOKEN = POD_LAYOUT.serviceAccount;

function podOf(more: Partial<Operator> = {}, options = operatorOptions(), files?: Record<string, string>) {
  const made = withFiles(more, files, options);
  const { template, ...rollout } = buildRunner(made.operator, options, made.files).spec;
  const pod = template.spec as Required<PodSpec>;
  const [runner, handler] = pod.containers as readonly Required<Container>[];
  const [shell] = pod.initContainers as readonly Required<Container>[];
  assert.ok(runner && handler && shell);
  return { pod, runner, handler, shell, rollout, template, ...made };
}

const mountsOf = ({
  volumeMounts,
}: {
  volumeMounts: readonly { name: string; mountPath: string; readOnly?: boolean }[];
}) =>
  Object.fromEntries(
    volumeMounts.map(({ name, mountPath, readOnly }) => [mountPath, readOnly ? `${name}, read only` : name]),
  );

const RULES = [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get"] }];

describe("a resident runner's pod", () => {
  it("knows the hash of its template if its handler need not be asked the same twice, or its versions are rolled out in stages", () => {
    const templateOf = (more: Partial<Operator>) =>
      podOf(more).runner.env.find(({ name }) => name === RUNNER_ENVIRONMENT.template)?.valueFrom;
    const rollout = { firstPercent: 5, pauseSeconds: 60, haltAfterFailures: 3, haltOnDeletions: true };
    for (const more of [{ ask: "changed" }, { rollout }] as const)
      assert.deepEqual(templateOf(more), {
        fieldRef: { fieldPath: "metadata.labels['pod-template-hash']" },
      });
    assert.equal(templateOf({}), undefined);
  });

  it("has the layout that the engine reads, and only the runner has a token", () => {
    const { pod, runner, handler, shell } = podOf();
    assert.equal(pod.automountServiceAccountToken, false);
    assert.deepStrictEqual(mountsOf(runner), {
      "/argosy/engine": "engine, read only",
      "/argosy/definition": "definition, read only",
      "/argosy/pipes": "pipes",
      "/tmp": "runner-tmp",
      [TOKEN]: "runner-token, read only",
    });
    assert.deepStrictEqual(mountsOf(handler), {
      "/argosy/engine": "engine, read only",
      "/argosy/handler": "handler, read only",
      "/argosy/handler-shell": "handler-shell, read only",
      "/argosy/pipes": "pipes",
      "/tmp": "handler-tmp",
    });
    assert.deepStrictEqual(mountsOf(shell), { "/argosy/handler-shell": "handler-shell" });
  });

  it("gives a handler with rules a token of its own, which the runner writes", () => {
    const { pod, runner, handler, shell } = podOf({ rules: RULES });
    assert.equal(mountsOf(runner)[POD_LAYOUT.handlerToken], "handler-token");
    assert.equal(mountsOf(runner)[TOKEN], "runner-token, read only");
    assert.equal(mountsOf(handler)[TOKEN], "handler-token, read only");
    assert.equal(mountsOf(shell)[TOKEN], "handler-token, read only");
    const volume = pod.volumes.find(({ name }) => name === "handler-token");
    assert.equal(volume?.emptyDir?.medium, "Memory");
  });

  it("makes the author's files executable, in their folders", () => {
    const { pod, files } = podOf({}, operatorOptions(), { "main.py": "", "lib/run.sh": "" });
    const name = files.handler[0]?.manifest.metadata.name;
    assert.deepStrictEqual(pod.volumes.find((volume) => volume.name === "handler")?.configMap, {
      name,
      defaultMode: 0o555,
      items: [
        { key: "lib..run.sh", path: "lib/run.sh" },
        { key: "main.py", path: "main.py" },
      ],
    });
    assert.equal(
      podOf().pod.volumes.find((volume) => volume.name === "handler")?.configMap?.items,
      undefined,
    );
  });

  it("tells the engine what its environment must say", () => {
    const { runner } = podOf();
    const env = Object.fromEntries(
      (runner.env ?? []).map(({ name, value, valueFrom }) => [name, value ?? JSON.stringify(valueFrom)]),
    );
    const field = (fieldPath: string) => JSON.stringify({ fieldRef: { fieldPath } });
    assert.deepStrictEqual(readEnvironment("resident", env), {
      namespace: field("metadata.namespace"),
      pod: field("metadata.name"),
      address: field("status.podIP"),
      template: "",
      instanceId: "argosy",
      workflow: "",
      runsKept: "3600",
      failedRunsKept: "86400",
      archive: "",
      eventPath: "",
      concurrency: "",
      resyncSeconds: "",
      tracesEndpoint: "",
      tracesHeaders: "",
      tracesOneIn: "",
      without: [],
    });
  });

  it("tells the engine, and not the handler, where traces go; a missing Secret keeps it from nothing", () => {
    const headers = { secret: "collector", key: "headers" };
    const traces = { endpoint: "https://example.com/$(HOME)", headers, oneIn: 20 };
    const { runner, handler } = podOf({}, operatorOptions({ traces }));
    const given = (env: readonly { name: string }[] = []) =>
      env.filter(({ name }) => name.startsWith("ARGOSY_TRACES_"));
    const secretKeyRef = { name: "collector", key: "headers", optional: true };
    assert.deepStrictEqual(given(runner.env), [
      { name: "ARGOSY_TRACES_ENDPOINT", value: "https://example.com/$$(HOME)" },
      { name: "ARGOSY_TRACES_HEADERS", valueFrom: { secretKeyRef } },
      { name: "ARGOSY_TRACES_ONE_IN", value: "20" },
    ]);
    assert.deepStrictEqual(given(handler.env), []);
  });

  it("runs the engine, and the author's command by the shell that was put there", () => {
    const { runner, handler, shell } = podOf({
      handler: { image: "python:3.13-slim", command: ["python3", "main.py"] },
    });
    assert.deepStrictEqual(runner.command, [
      "node",
      "--min-semi-space-size=8",
      "/argosy/engine/engine.js",
      "resident",
    ]);
    assert.deepStrictEqual(handler.command, [
      "/argosy/handler-shell/busybox",
      "sh",
      "/argosy/engine/handler.sh",
      "python3",
      "main.py",
    ]);
    assert.equal(handler.workingDir, "/argosy/handler");
    assert.deepStrictEqual(shell.command, ["cp", "/bin/busybox", "/argosy/handler-shell/busybox"]);
  });

  it("runs a function by the engine's own loop, whose answers have a descriptor of their own", () => {
    for (const [file, words] of [
      ["main.py", ["python3", "/argosy/engine/function.py", "main.py"]],
      ["lib/main.ts", ["node", "/argosy/engine/function.js", "lib/main.ts"]],
    ] as const) {
      const { handler } = podOf({ handler: { image: "a:1", function: file } }, undefined, {
        [file]: "",
      });
      assert.equal(handler.image, "a:1");
      assert.deepStrictEqual(handler.command.slice(3), ["--function", ...words]);
    }
  });

  it("brings no shell for a function in its default image, which has one", () => {
    const operator = { handler: { image: FUNCTION_IMAGES.python, function: "main.py" } };
    const podWith = (more: Partial<Operator>, images: Readonly<Record<string, string>> = {}) => {
      const options = operatorOptions({ images });
      const made = withFiles({ ...operator, ...more }, { "main.py": "" }, options);
      const pod = buildRunner(made.operator, options, made.files).spec.template.spec as PodSpec;
      const [, handler] = pod.containers;
      return {
        command: handler?.command?.slice(0, 3),
        brought: [pod.initContainers, pod.volumes, handler?.volumeMounts].map(
          (parts) => parts?.some(({ name }) => name === "handler-shell") ?? false,
        ),
      };
    };
    const own = {
      command: ["sh", "/argosy/engine/handler.sh", "--function"],
      brought: [false, false, false],
    };
    assert.deepStrictEqual(podWith({}), own);
    assert.deepStrictEqual(podWith({}, { python: ":3.13.1-slim" }), own);
    const brought = {
      command: ["/argosy/handler-shell/busybox", "sh", "/argosy/engine/handler.sh"],
      brought: [true, true, true],
    };
    assert.deepStrictEqual(podWith({}, { python: "gcr.io/distroless/python3:1" }), brought);
    // The shell would look for its tools there.
    assert.deepStrictEqual(podWith({ env: { PATH: "/opt/bin" } }), brought);
    assert.deepStrictEqual(podWith({ secretEnv: { PATH: { secret: "a", key: "b" } } }), brought);
  });

  it("gives the handler the author's variables as he wrote them, though the kubelet reads $", () => {
    const env = { PRICE: "$$5 $(HOME) $x", HOME: "/argosy/handler" };
    const { handler } = podOf({
      env,
      secretEnv: { TOKEN: { secret: "api", key: "token" } },
      handler: { image: "a:1", command: ["sh", "-c", "echo $(date) $$"] },
    });
    assert.deepStrictEqual(handler.env, [
      { name: "PRICE", value: "$$$$5 $$(HOME) $$x" },
      { name: "HOME", value: "/argosy/handler" },
      { name: "TOKEN", valueFrom: { secretKeyRef: { name: "api", key: "token" } } },
    ]);
    assert.equal(handler.command.at(-1), "echo $$(date) $$$$");
    // Its values are masked in all reports.
    assert.ok(handler.command.includes("--hidden=TOKEN") && !handler.command.includes("--hidden=PRICE"));
  });

  it("gives the handler a home that can be written to, unless the author gives one", () => {
    const home = (more: Partial<Operator>) =>
      podOf(more).handler.env?.filter(({ name }) => name === "HOME") ?? [];
    assert.deepStrictEqual(home({}), [{ name: "HOME", value: "/tmp" }]);
    assert.equal(home({ secretEnv: { HOME: { secret: "a", key: "b" } } }).length, 1);
  });

  it("takes the author's resources, and asks for no more than he allows", () => {
    const resources = (given: Operator["resources"]) => podOf({ resources: given }).handler.resources;
    assert.deepStrictEqual(resources({}), { requests: { cpu: "50m", memory: "64Mi" } });
    assert.deepStrictEqual(resources({ limits: { memory: "16Mi" } }), {
      requests: { cpu: "50m" },
      limits: { memory: "16Mi" },
    });
    assert.deepStrictEqual(resources({ requests: { memory: "1Gi" }, limits: { cpu: "2" } }), {
      requests: { memory: "1Gi" },
      limits: { cpu: "2" },
    });
  });

  it("waits for a reconcile that runs, up to two minutes", () => {
    const grace = (timeoutSeconds: number) => podOf({ timeoutSeconds }).pod.terminationGracePeriodSeconds;
    assert.deepStrictEqual([1, 30, 100, 101, 3600].map(grace), [21, 50, 120, 120, 120]);
  });

  it("reads its own definition back, without what concerns the handler's container alone", () => {
    const definition = podOf({ env: { A: "b" }, rules: RULES, record: "all" }).files.definition;
    const data = definition.data as Record<string, string>;
    const folder = writeFolder(data);
    const { env, rules, record, name } = readDefinitionFile(folder);
    assert.deepStrictEqual(
      { env, rules, record, name },
      { env: {}, rules: RULES, record: "all", name: "shop" },
    );
    assert.doesNotMatch(JSON.stringify(data), /\/tmp\//);
  });
});

describe("a resident runner's ConfigMaps", () => {
  it("have their content's hash in their names, and never change", () => {
    const first = withFiles().files;
    const again = withFiles().files;
    const other = withFiles({}, { "main.py": "print()" }).files;
    const nameOf = ({ handler }: OperatorFiles) => handler[0]?.manifest.metadata.name;
    const handlerFiles = first.handler.map(({ manifest }) => manifest);
    assert.equal(handlerFiles.length, 1);
    for (const { immutable, metadata } of [first.engine, first.definition, ...handlerFiles]) {
      assert.equal(immutable, true);
      assert.match(metadata.name, /^(argosy-engine|shop-definition|shop-handler)-[0-9a-f]{10}$/);
    }
    assert.deepStrictEqual(again, first);
    assert.notEqual(nameOf(other), nameOf(first));
    assert.equal(other.definition.metadata.name, first.definition.metadata.name);
  });
});

describe("a resident operator's Deployment", () => {
  const { operator, rollout } = podOf();

  it("never runs at the same time as a runner of another installation, which has another Lease", () => {
    const strategyWith = (formerNames: readonly string[]) => podOf({ formerNames }).rollout.strategy;
    assert.deepStrictEqual(strategyWith([`old.${operator.name}`]), { type: "Recreate" });
    assert.deepStrictEqual(strategyWith(["old.other", `older.${operator.name}`]), { type: "Recreate" });
    // Pulumi deletes the Deployment of another name before it creates this one.
    assert.deepStrictEqual(strategyWith(["other", "old.other"]), rollout.strategy);
  });
});
