import assert from "node:assert/strict";
import { chmodSync } from "node:fs";
import path from "node:path";
import { main } from "../../tools/chaos";
import { rememberVariables } from "../environment";
import { writeFolder } from "./operatorFolder";
import { captured } from "./support/captured";
import { assertNone } from "./support/lists";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const USAGE_EXIT_CODE = 2;

describe("the command chaos", () => {
  let folder: string;
  let server: TestApiServer;
  /** Whether the cluster has a namespace of Argosy's. */
  let isOccupied: boolean;
  const putBack = rememberVariables("PATH", "KUBECONFIG");

  before(async () => {
    server = await TestApiServer.start((call, response) => {
      if (call.path === "/version" || isOccupied) return json(response, { metadata: { name: "argosy" } });
      return refuse(response, 404);
    });
    folder = writeFolder({ "bin/pulumi": "#!/bin/sh\nexit 7\n", "none/readme": "" });
    chmodSync(path.join(folder, "bin/pulumi"), 0o755);
  });
  after(() => server.stop());
  beforeEach(() => {
    isOccupied = false;
    process.env.PATH = path.join(folder, "bin");
    process.env.KUBECONFIG = kubeconfigOf(server.connection().server);
  });
  afterEach(putBack);

  function kubeconfigOf(address: string): string {
    const cluster = { server: address, "insecure-skip-tls-verify": true };
    const config = {
      ...{ apiVersion: "v1", kind: "Config", "current-context": "test" },
      clusters: [{ name: "test", cluster }],
      users: [{ name: "test", user: { token: "t" } }],
      contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    };
    return path.join(writeFolder({ kubeconfig: JSON.stringify(config) }), "kubeconfig");
  }

  /** What it prints, and its exit code. */
  async function run(...args: string[]): Promise<{ code: number; text: string }> {
    const { result, stdout, stderr } = await captured(() => main(args));
    return { code: result, text: stdout + stderr };
  }

  it("refuses to do nothing", async () => {
    const { code, text } = await run("--changes", "0", "--pod-changes", "0");
    assert.deepEqual([code, /--changes and --pod-changes .* give one/.test(text)], [USAGE_EXIT_CODE, true]);
  });

  it("refuses faults that there are not, and tells which there are, before anything is made", async () => {
    const { code, text } = await run("--faults", "sensr");
    assert.equal(code, USAGE_EXIT_CODE);
    assert.match(text, /option '--faults <text>' .*"sensr".*\n(.*\n)* {2}sensor: killed\n/);
    assertNone(server.calls, ({ method }) => method !== "GET");
  });

  it("is skipped without pulumi", async () => {
    process.env.PATH = path.join(folder, "none");
    assert.deepEqual(await run(), { code: 0, text: "chaos skipped: no program pulumi is on PATH\n" });
  });

  it("is skipped where no cluster answers", async () => {
    process.env.KUBECONFIG = kubeconfigOf("https://127.0.0.1:9");
    const { code, text } = await run();
    assert.equal(code, 0);
    assert.match(text, /^chaos skipped: no cluster answers: .+\n$/);
  });

  it("is not skipped where the cluster that was asked for is none", async () => {
    const { code, text } = await run("--context", "nowhere");
    assert.deepEqual([code, text.includes('no context "nowhere". It has: test')], [1, true]);
  });

  it("refuses a cluster where Argosy is installed, with a remedy", async () => {
    isOccupied = true;
    const { code, text } = await run();
    assert.equal(code, 1);
    assert.match(text, /already has a namespace argosy.*"pulumi destroy"/);
  });
});
