import assert from "node:assert/strict";
import { mock } from "node:test";
import * as k8s from "@pulumi/kubernetes";
import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { resetOptions } from "@pulumi/pulumi/runtime/settings";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { OperatorsArgs } from "../../components/arguments";
import { checkInCluster } from "../../components/checkInCluster";
import type { Cluster } from "../../components/cluster";
import { Operators } from "../../components/operators";
import { NOTHING } from "../../preflight/lookInCluster";
import { rememberVariables } from "../environment";
import { removeFolder } from "./operatorFolder";
import { logged, refused } from "./support/componentRuns";
import { found } from "./support/fakeLook";
import { run } from "./support/program";
import { EVERY_FORM, type SampleProgram, sampleProgram } from "./support/sampleOperators";
import { type Answer, json, refuse, TestApiServer } from "./support/testApiServer";

const NAMESPACES = "/api/v1/namespaces";

describe("the check of a component in its cluster", function () {
  this.timeout(30_000);
  let api: TestApiServer;
  before(async () => {
    api = await TestApiServer.start();
  });
  beforeEach(() => api.calls.splice(0));
  afterEach(() => mock.timers.reset());
  after(() => api.stop());

  const clusterOf = (identity: string): Cluster => ({
    provider: undefined,
    identity,
    connection: Promise.resolve({ kubeconfig: api.kubeconfig() }),
  });
  const check = () => checkInCluster("It", clusterOf("here"), async () => NOTHING);
  /** The cluster has a namespace of this program. It says so when no component that makes the namespace comes any more. */
  const withNamespace =
    (program: string): Answer =>
    ({ path }, response) => {
      const items = [{ metadata: { name: "argosy", annotations: { "argosy.dev/program": program } } }];
      if (path !== NAMESPACES) return json(response, { metadata: {}, items: [] });
      mock.timers.enable({ apis: ["Date"], now: Date.now() + 5_000 });
      json(response, { metadata: {}, items });
    };

  describe("in a plugin, which creates one component after another for a program elsewhere", () => {
    it("asks a busy cluster again in an up, as everywhere, and not in a preview", async () => {
      api.answer = ({ path }, response) => {
        const asked = api.calls.filter((call) => call.path === path).length;
        if (path === NAMESPACES && asked === 1) refuse(response, 503);
        else json(response, { metadata: {}, items: [] });
      };
      const asked = async (isPreview: boolean) => {
        api.calls.splice(0);
        await logged(() => inPlugin(check, isPreview));
        return api.calls.filter(({ path }) => path === NAMESPACES).length;
      };
      assert.deepEqual([await asked(false), await asked(true)], [2, 1]);
    });

    it("warns of a loss, since a component that waits for this one may follow", async () => {
      api.answer = withNamespace("acme/shop/dev");
      const lines = await logged(() => inPlugin(check));
      assert.match(lines, /^It: pulumi up deletes the namespace argosy that this stack created, /);
    });
  });

  it("refuses a loss in a program, all of whose components are here", async () => {
    api.answer = withNamespace("organization/argosy/test");
    await assert.rejects(
      run(check, { cluster: true }),
      /It: pulumi up would delete the namespace argosy that this stack created, /,
    );
  });

  it("warns once of what is deleted after a component was renamed, if Pulumi may take over what exists", async () => {
    const putBack = rememberVariables("PULUMI_K8S_UPSERT_EXISTING_OBJECTS");
    api.answer = (_, response) => json(response, { metadata: {}, items: [] });
    const both = async () => void (await Promise.all([check(), check()]));
    const lines = () => logged(() => run(both, { cluster: true }));
    try {
      delete process.env.PULUMI_K8S_UPSERT_EXISTING_OBJECTS;
      assert.equal(await lines(), "");
      process.env.PULUMI_K8S_UPSERT_EXISTING_OBJECTS = "true";
      assert.match(
        await lines(),
        /^It: PULUMI_K8S_UPSERT_EXISTING_OBJECTS is true, .*take them over, and then delete them\. .*alias.*$/,
      );
    } finally {
      putBack();
    }
  });

  it("refuses a platform with one error, of which Pulumi shows no stack when the program has ended", async () => {
    api.answer = ({ path }, response) =>
      path.endsWith("/secrets") ? json(response, { metadata: {}, items: [] }) : refuse(response, 404);
    const archive = { host: "db.example.com", database: "runs", secret: "archive" };
    const program = () =>
      void new ArgoPlatform("argo", { archive, cluster: { kubeconfig: api.kubeconfig() } });
    const refusal = (error: Error) => {
      assert.match(
        error.message,
        /^ArgoPlatform "argo": archive names the Secret "archive", which is not in argosy-system\. /,
      );
      // What Pulumi shows (sdk/nodejs/cmd/run/index.ts, uncaughtHandler).
      assert.equal(error.stack, error.message);
      return true;
    };
    assert.equal(await logged(() => assert.rejects(run(program, { cluster: true }), refusal)), "");
  });

  describe("of operators", () => {
    let sample: SampleProgram;
    before(() => {
      sample = sampleProgram(EVERY_FORM);
    });
    after(() => removeFolder(sample.root));

    const operators = (options: ComponentResourceOptions = {}, args: Partial<OperatorsArgs> = {}) => {
      const cluster = { kubeconfig: api.kubeconfig() };
      new Operators("shop", { handlers: sample.definitions, cluster, ...args }, options);
    };

    it("refuses them with one error and no other message, which Pulumi could not deliver", async () => {
      const name = "argosy-installation-argosy";
      const theirs = found({ name, annotations: { "argosy.dev/program": "acme/shop/old" } });
      api.answer = ({ path }, response) =>
        path.endsWith(`/clusterroles/${name}`) ? json(response, theirs) : refuse(response, 404);
      const belongs = /^Operators "shop": installation is "argosy", which in this cluster belongs to/;
      assert.equal(await logged(() => refused(() => operators(), belongs, { cluster: true })), "");
    });

    it("warns of the namespaces that their files name and the cluster does not have", async () => {
      api.answer = ({ path }, response) =>
        path === `${NAMESPACES}/team-a` ? json(response, found()) : refuse(response, 404);
      const lines = await logged(() => run(() => operators(), { cluster: true }));
      const warnings = lines.match(/^Operators "shop": these namespaces are not in the cluster: .*$/gm);
      assert.equal(warnings?.length, 1, lines);
      assert.match(warnings?.[0] ?? "", /cluster: team-b \(\S+\/press\/operator\.yaml\)\. /);
    });

    it("warns of the platform's namespaces that the platform does not create and the cluster does not have", async () => {
      const platform = { namespace: "work", controllerNamespace: "contorl", createNamespaces: false };
      api.answer = (_, response) => refuse(response, 404);
      // A plugin always gives a list.
      const program = () => operators({ dependsOn: [] }, { platform });
      const lines = await logged(() => run(program, { cluster: true }));
      assert.match(
        lines,
        /^ArgoPlatform "shop-platform": these namespaces are not in the cluster: work \(namespace\), contorl \(controllerNamespace\)\. /m,
      );
    });

    it("does not warn if the operators come after something that may create the namespaces", async () => {
      api.answer = (_, response) => refuse(response, 404);
      const namespace = () => new k8s.core.v1.Namespace("team-b", { metadata: { name: "team-b" } });
      const platform = { createNamespaces: false };
      const program = () => operators({ dependsOn: namespace() }, { platform });
      const lines = await logged(() => run(program, { cluster: true }));
      assert.doesNotMatch(lines, /these namespaces/);
    });
  });
});

/** Acts with what the SDK keeps for one call of a plugin, as its own provider/server.js does. The SDK does not declare the function. */
const { withLocalStorage } = require("@pulumi/pulumi/runtime/state") as {
  readonly withLocalStorage: <Result>(act: () => Result) => Result;
};

let runs = 0;

/** Acts as the plugin does for the program acme/shop/dev: with what Pulumi keeps for this call alone, and without a stack. */
function inPlugin<Result>(act: () => Promise<Result>, isPreview = false): Promise<Result> {
  return withLocalStorage(() => {
    runs += 1;
    resetOptions("shop", "dev", -1, "127.0.0.1:1", `127.0.0.1:${1 + runs}`, isPreview, "acme");
    return act();
  });
}
