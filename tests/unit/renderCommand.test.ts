import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parse, parseAllDocuments } from "yaml";
import { ARGO_CD_HEALTH } from "../../cli/render/argoCdHealth";
import { formatStream } from "../../cli/render/output";
import { addFiles } from "./operatorFolder";
import { runStack } from "./support/program";
import { copyProgram } from "./support/projectCopy";
import { type Ended, renderHere } from "./support/renderHere";
import { json, useApiServer } from "./support/testApiServer";

const FROM_SOURCES = "--conditions=@argosy-dev/source";
const USAGE_EXIT_CODE = 2;

/** The command in a folder of its own, with the program of this project. */
describe("the command render", () => {
  let copy: string;
  before(() => {
    copy = copyProgram();
  });

  /** A kubeconfig whose cluster must not matter. */
  const elsewhere = () => ({ ...process.env, KUBECONFIG: path.join(copy, "kubeconfig") });

  /** As it is typed. */
  function render(...args: string[]): Ended {
    const command = [FROM_SOURCES, "tools/bootstrap.mjs", "argosy", "render", ...args];
    return spawnSync(process.execPath, command, {
      cwd: copy,
      env: elsewhere(),
      encoding: "utf8",
      maxBuffer: 2 ** 26,
    });
  }

  /** A file of the copy, replaced for the time of a test. */
  async function edited(
    file: string,
    edit: (text: string) => string,
    then: () => Promise<void>,
  ): Promise<void> {
    const text = readFileSync(path.join(copy, file), "utf8");
    addFiles(copy, { [file]: edit(text) });
    try {
      await then();
    } finally {
      addFiles(copy, { [file]: text });
    }
  }

  it("prints the same from another folder, with another cluster at hand, and each time", async () => {
    const cluster = { server: "https://127.0.0.1:9" };
    const user = { name: "u", user: { token: "t" } };
    addFiles(copy, {
      kubeconfig: {
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster }],
        users: [user],
        contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
        "current-context": "x",
      },
    });
    const { stdout, stderr, status } = render("--stack", "prod");
    assert.deepEqual([status, stderr], [0, ""]);
    // Here every stack is called "test", and that is on what only one stack may install.
    const here = async (stack: string) =>
      formatStream((await runStack(stack)).manifests).replaceAll(
        ": organization/argosy/test\n",
        `: organization/argosy/${stack}\n`,
      );
    assert.ok(stdout.length > 100_000);
    assert.equal(stdout, await here("prod"));
    assert.equal(stdout, await here("prod"));
    assert.notEqual(stdout, await here("dev"));
  });

  describe("where the program names its cluster", () => {
    // As after a first `up` with Pulumi Cloud, which knows organizations, as nothing here does.
    const metadata = { annotations: { "argosy.dev/program": "acme/argosy/dev" } };
    const api = useApiServer((_, response) => json(response, { metadata, items: [] }));
    before(() => addFiles(copy, { "api.json": api.kubeconfig() }));

    const named = [
      ["in an argument", `cluster: { kubeconfig: "api.json" }`, ""],
      ["by a context alone", `cluster: { context: "prod" }`, ""],
      ["in its configuration", "", "  kubernetes:kubeconfig: api.json\n"],
    ] as const;
    for (const [how, argument, configuration] of named) {
      it(`${how}, looks into none and says nothing about it`, () =>
        edited(
          "index.ts",
          () => `
            import { Operators } from "@argosy-dev/argosy";
            new Operators("shop", { handlers: "./handlers", ${argument} });`,
          () =>
            edited(
              "Pulumi.dev.yaml",
              (text) => text + configuration,
              async () => {
                const { stdout, stderr, status } = await renderHere(copy);
                assert.deepEqual([status, stderr, api.calls], [0, "", []]);
                assert.match(stdout, /^kind: CustomResourceDefinition$/m);
              },
            ),
        ));
    }
  });

  it("prints the same as a List in JSON", async () => {
    const [yaml, list] = [await renderHere(copy), await renderHere(copy, "--json")];
    const items = parseAllDocuments(yaml.stdout).map((each) => each.toJS() as unknown);
    assert.deepEqual(JSON.parse(list.stdout), { apiVersion: "v1", kind: "List", items });
  });

  it("prints nothing but manifests, also where the program warns", () =>
    edited(
      "index.ts",
      (text) => `import { log } from "@pulumi/pulumi";\nvoid log.warn("to be read");\n${text}`,
      async () => {
        const { stdout, stderr, status } = await renderHere(copy);
        assert.equal(status, 0);
        assert.match(stdout, /^---\napiVersion: /);
        assert.match(stderr, /to be read/);
      },
    ));

  it("can be read by a program that stops early", () =>
    edited(
      "index.ts",
      // More than a pipe holds, by a program that is soon loaded.
      () => `
        import { CustomResource } from "@pulumi/pulumi";
        const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "large" } };
        const data = { text: "x".repeat(1_000_000) };
        new CustomResource("kubernetes:core/v1:ConfigMap", "large", { ...object, data });`,
      async () => {
        const line = `"${process.execPath}" ${FROM_SOURCES} tools/bootstrap.mjs argosy render | head -n 1`;
        const options = { cwd: copy, env: elsewhere(), encoding: "utf8" } as const;
        const { stdout, stderr, status } = spawnSync("bash", ["-o", "pipefail", "-c", line], options);
        assert.deepEqual([stdout, stderr, status], ["---\n", "", 0]);
      },
    ));

  it("writes files that Argo CD and Flux treat as Pulumi would: what is protected stays", async () => {
    const annotations = async (stack: string) => {
      const { status, stderr } = await renderHere(copy, "--stack", stack, "--out", `rendered-${stack}`);
      assert.equal(status, 0, stderr);
      const file = "customresourcedefinition.apiextensions.k8s.io_memcacheds.cache.example.com.yaml";
      const { metadata } = parse(readFileSync(path.join(copy, `rendered-${stack}`, file), "utf8"));
      const { "argosy.dev/program": _, ...others } = metadata.annotations;
      return others;
    };
    assert.deepEqual(await annotations("dev"), { "argocd.argoproj.io/sync-wave": "2" });
    assert.deepEqual(await annotations("prod"), {
      "argocd.argoproj.io/sync-wave": "2",
      "argocd.argoproj.io/sync-options": "Prune=false,Delete=false",
      "kustomize.toolkit.fluxcd.io/prune": "disabled",
    });
  });

  it("prints Argo CD's health checks of the operators' kinds, and nothing else", async () => {
    const { stdout, stderr, status } = await renderHere(copy, "--stack", "dev", "--argocd-health");
    assert.deepEqual([status, stderr], [0, ""]);
    const { kind, metadata, data } = parse(stdout);
    assert.deepEqual([kind, metadata], ["ConfigMap", { name: "argocd-cm" }]);
    assert.deepEqual(data, { "resource.customizations.health.cache.example.com_Memcached": ARGO_CD_HEALTH });
    const both = await renderHere(copy, "--argocd-health", "--out", "x");
    assert.deepEqual([both.status, both.stdout], [USAGE_EXIT_CODE, ""]);
  });

  it("tells an author without a stack trace what to put right", () =>
    edited(
      "handlers/memcached/operator.yaml",
      (text) => text.replace("children:", "chidren:"),
      async () => {
        const { stdout, stderr, status } = await renderHere(copy);
        assert.deepEqual([stdout, status], ["", 1]);
        assert.doesNotMatch(stderr, /^\s+at /m);
        assert.match(
          stderr,
          /^handlers\/memcached\/operator\.yaml:4:1: chidren is not a known field\. Did you mean children\?$/m,
        );
      },
    ));
});
