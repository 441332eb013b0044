import assert from "node:assert/strict";
import * as k8s from "@pulumi/kubernetes";
import type { ComponentResourceOptions } from "@pulumi/pulumi";
import { resetOptions } from "@pulumi/pulumi/runtime/settings";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { ArgoPlatformArgs, OperatorsArgs } from "../../components/arguments/arguments";
import { checkInCluster } from "../../components/inCluster/checkInCluster";
import type { Cluster } from "../../components/inCluster/cluster";
import { Operators } from "../../components/operators";
import { NOTHING } from "../../preflight/lookInCluster";
import type { KubernetesObject } from "../../runtime/base/objects";
import { rememberVariables } from "../environment";
import { logged, refused } from "./support/componentRuns";
import { found } from "./support/fakeLook";
import { samplePlatform } from "./support/platform";
import { run } from "./support/program";
import { EVERY_FORM, sampleProgram } from "./support/sampleOperators";
import { json, refuse, TestApiServer } from "./support/testApiServer";

const NAMESPACES = "/api/v1/namespaces";

describe("the check of a component in its cluster", function () {
  this.timeout(30_000);
  let api: TestApiServer;
  before(async () => {
    api = await TestApiServer.start();
  });
  beforeEach(() => api.calls.splice(0));
  after(() => api.stop());

  const cluster = (): Cluster => ({
    provider: undefined,
    known: { values: [], providers: new Set(), claims: new Map() },
    connection: Promise.resolve({ kubeconfig: api.kubeconfig() }),
  });
  const check = () =>
    checkInCluster("It", cluster(), async (look) => {
      await look.namespace("argosy");
      return NOTHING;
    });

  describe("in a plugin, which creates one component after another for a program elsewhere", () => {
    it("asks a busy cluster again in an up, as everywhere, and not in a preview", async () => {
      api.answer = ({ path }, response) => {
        if (api.calls.filter((call) => call.path === path).length === 1) refuse(response, 503);
        else json(response, found());
      };
      const asked = async (isPreview: boolean) => {
        api.calls.splice(0);
        await logged(() => inPlugin(check, isPreview));
        return api.calls.length;
      };
      assert.deepEqual([await asked(false), await asked(true)], [2, 1]);
    });
  });

  it("quotes nothing of the cluster on which a terminal would act", async () => {
    const evil = "it\u001b]0;owned\u0007\u009b2J\u202e is";
    const finding = async (key: "problems" | "warnings") => ({ problems: [], [key]: [evil] });
    const told = () => checkInCluster("It", cluster(), () => finding("warnings"));
    assert.equal(await logged(() => run(told, { cluster: true })), "It: it0;owned2J is");
    await refused(() => checkInCluster("It", cluster(), () => finding("problems")), /^It: it0;owned2J is$/, {
      cluster: true,
    });
  });

  it("warns once that objects of a renamed component may be deleted, if Pulumi takes over existing objects", async () => {
    const putBack = rememberVariables("PULUMI_K8S_UPSERT_EXISTING_OBJECTS");
    api.answer = (_, response) => json(response, found());
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
    const theirs = found({ annotations: { "argosy.dev/program": "acme/shop/prod" } });
    api.answer = ({ path }, response) =>
      path === `${NAMESPACES}/argosy` ? json(response, theirs) : refuse(response, 404);
    const program = () => void new ArgoPlatform("argo", { cluster: { kubeconfig: api.kubeconfig() } });
    const refusal = (error: Error) => {
      assert.match(
        error.message,
        /^ArgoPlatform "argo": createNamespaces is true, but the namespace argosy exists already, from /,
      );
      // What Pulumi shows (sdk/nodejs/cmd/run/index.ts, uncaughtHandler).
      assert.equal(error.stack, error.message);
      return true;
    };
    assert.equal(await logged(() => assert.rejects(run(program, { cluster: true }), refusal)), "");
  });

  describe("of a program that says that its data is kept", () => {
    const ours = { "argosy.dev/program": "organization/argosy/test" };
    const platform = (args: ArgoPlatformArgs = {}) =>
      void new ArgoPlatform("argo", {
        cluster: { kubeconfig: api.kubeconfig() },
        argoWorkflows: "none",
        ...args,
      });
    const lists: Readonly<Record<string, readonly KubernetesObject[]>> = {
      "/api/v1/namespaces": [
        found({ name: "argosy", annotations: ours }),
        found({ name: "former", annotations: ours }),
        found({ name: "kept", annotations: { ...ours, "pulumi.com/patchFieldManager": "argosy-it" } }),
        found({ name: "going", annotations: ours, deletionTimestamp: "2026-01-01T00:00:00Z" }),
        found({ name: "theirs", annotations: { "argosy.dev/program": "organization/argosy/prod" } }),
      ],
      "/apis/apiextensions.k8s.io/v1/customresourcedefinitions": [
        found({ name: "sensors.argoproj.io", annotations: ours }),
        found({ name: "workflows.argoproj.io", annotations: ours }),
      ],
    };
    beforeEach(() => {
      api.answer = ({ path }, response) => {
        const items = lists[path]?.map(({ metadata }) => ({ metadata }));
        if (items) json(response, { metadata: {}, items });
        else refuse(response, 404);
      };
    });
    const losses = async (program: () => void) => {
      const error = await run(program, { cluster: true }).then(
        () => undefined,
        (refusal: Error) => refusal,
      );
      return [
        ...(error?.message ?? "").matchAll(/pulumi up would delete the (.*?): data is "keep" now/g),
      ].map(([, what]) => what);
    };
    const LOST = ["namespace former and everything in it", "CRD workflows.argoproj.io and all its objects"];

    it("refuses to lose a namespace or CRDs of Argo that leave it, if only the next pulumi up would keep them", async () => {
      assert.deepEqual(await losses(platform), LOST);
      assert.deepEqual(await losses(() => platform({ data: "delete" })), []);
      const both = () => {
        platform();
        const namespaces = { namespace: "former", controllerNamespace: "other" };
        new ArgoPlatform("second", {
          cluster: { kubeconfig: api.kubeconfig() },
          argoEvents: "none",
          ...namespaces,
        });
      };
      assert.deepEqual(await losses(both), []);
    });

    it("refuses this also if the platform itself has become another stack's", async () => {
      const { definitions: handlers } = sampleProgram(EVERY_FORM);
      const elsewhere = { handlers, cluster: { kubeconfig: api.kubeconfig() }, platform: samplePlatform() };
      const lost = await losses(() => void new Operators("shop", elsewhere));
      assert.deepEqual(
        lost.filter((what) => LOST.includes(what ?? "")),
        LOST,
      );
    });
  });

  it("counts what is missing as coming if the platform comes after others, or if another component installs it", async () => {
    api.answer = (_, response) => refuse(response, 404);
    const cluster = { kubeconfig: api.kubeconfig() };
    const needs: ArgoPlatformArgs = {
      cluster,
      argoEvents: "share",
      argoWorkflows: "adopt",
      createNamespaces: false,
      monitoring: { podMonitor: true, alertRules: true },
    };
    const platform = (opts: ComponentResourceOptions = {}, args = needs) =>
      void new ArgoPlatform("argo", args, opts);
    await assert.rejects(
      run(() => platform({ dependsOn: [] }), { cluster: true }),
      /If this program installs it, name it in the option dependsOn/,
    );
    const chart = () => new k8s.helm.v3.Release("argo", { chart: "argo-cd" });
    const lines = await logged(() => run(() => platform({ dependsOn: chart() }), { cluster: true }));
    assert.doesNotMatch(lines, /not in the cluster/);
    const earlier = () => {
      new ArgoPlatform("first", { cluster, namespace: "one", controllerNamespace: "two" });
      platform({}, { cluster, argoEvents: "share", argoWorkflows: "share" });
    };
    await run(earlier, { cluster: true });
  });

  it("warns of an archive whose Secret is missing, as the program may create it in the namespace of the component", async () => {
    api.answer = ({ path }, response) =>
      path.endsWith("/secrets") ? json(response, { metadata: {}, items: [] }) : refuse(response, 404);
    const lines = await logged(() =>
      run(
        () => {
          const archive = { host: "db.example.com", database: "runs", secret: "archive" };
          const argo = new ArgoPlatform("argo", { archive, cluster: { kubeconfig: api.kubeconfig() } });
          const namespace = argo.controllerNamespace?.metadata.name ?? "";
          new k8s.core.v1.Secret("archive", { metadata: { name: "archive", namespace } });
        },
        { cluster: true },
      ),
    );
    assert.match(
      lines,
      /^ArgoPlatform "argo": archive names the Secret "archive", .* in the same program too\.$/m,
    );
  });

  describe("of operators", () => {
    const sample = sampleProgram(EVERY_FORM);

    const operators = (options: ComponentResourceOptions = {}, args: Partial<OperatorsArgs> = {}) => {
      const cluster = { kubeconfig: api.kubeconfig() };
      new Operators("shop", { handlers: sample.definitions, cluster, ...args }, options);
    };

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
