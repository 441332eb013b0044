import assert from "node:assert/strict";
import { type LookOptions, lookInCluster } from "../../preflight/lookInCluster";
import { type Answer, json, refuse, TestApiServer } from "./support/testApiServer";

/** Longer than the time after which a cluster is asked again. */
const PATIENT: LookOptions = { patienceMs: 20_000 };

describe("lookInCluster", function () {
  this.timeout(30_000);
  let api: TestApiServer;
  before(async () => {
    api = await TestApiServer.start();
  });
  beforeEach(() => api.calls.splice(0));
  after(() => api.stop());

  const kubeconfig = () => api.kubeconfig();
  const lookForCrd = (answer: Answer, options?: LookOptions) => {
    api.answer = answer;
    return lookInCluster({ kubeconfig: kubeconfig() }, (look) => look.crd("gears.example.com"), options);
  };
  const busyOnce: Answer = (_, response) => refuse(response, api.calls.length === 1 ? 503 : 404);

  it("asks a busy cluster again if it has the time, as an up has", async () => {
    assert.equal(await lookForCrd(busyOnce, PATIENT), "absent");
    assert.equal(api.calls.length, 2);
  });

  it("asks a busy cluster only once in the time of a preview", async () => {
    assert.equal(await lookForCrd(busyOnce), undefined);
    assert.equal(api.calls.length, 1);
  });

  it("does not ask again what it may not see", async () => {
    assert.equal(await lookForCrd((_, response) => refuse(response, 403), PATIENT), undefined);
    assert.equal(api.calls.length, 1);
  });

  it("waits no longer than it may", async () => {
    const never: Answer = () => {};
    assert.equal(await lookForCrd(never, { patienceMs: 100 }), undefined);
    api.cut();
  });

  it("tells the address of the API server", async () => {
    const server = await lookInCluster({ kubeconfig: kubeconfig() }, async (_, address) => address);
    assert.equal(server, api.connection().server);
    assert.equal(await lookInCluster(undefined, async (_, address) => address), undefined);
  });

  const CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  const platformObjects = () =>
    lookInCluster({ kubeconfig: kubeconfig() }, async (look) => {
      const [namespaces, definitions] = await Promise.all([look.namespaces(), look.argoDefinitions()]);
      const named = (objects: typeof namespaces) =>
        objects?.map(({ kind, metadata }) => [kind, metadata.name]);
      return { namespaces: named(namespaces), definitions: named(definitions) };
    });

  it("finds all namespaces, and of the CRDs those that Argosy has installed", async () => {
    api.answer = ({ path }, response) =>
      json(response, { metadata: {}, items: [{ metadata: { name: path } }] });
    assert.deepEqual(await platformObjects(), {
      namespaces: [["Namespace", "/api/v1/namespaces"]],
      definitions: [["CustomResourceDefinition", CRDS]],
    });
    const { query } = api.calls.find(({ path }) => path === CRDS) ?? {};
    assert.equal(
      query?.get("labelSelector"),
      "app.kubernetes.io/managed-by=argosy,app.kubernetes.io/component=definitions",
    );
  });

  it("finds the CRDs by which Argo is known, for an account that may list nothing", async () => {
    api.answer = ({ path }, response) => {
      const name = path.split("/").at(-1);
      if (path === CRDS || path === "/api/v1/namespaces") refuse(response, 403);
      else if (name === "eventsources.argoproj.io") refuse(response, 404);
      else json(response, { kind: "CustomResourceDefinition", metadata: { name } });
    };
    assert.deepEqual(await platformObjects(), {
      namespaces: undefined,
      definitions: [["CustomResourceDefinition", "workflows.argoproj.io"]],
    });
  });
});
