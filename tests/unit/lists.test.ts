import assert from "node:assert/strict";
import { examineCluster } from "../../cli/doctor/cluster";
import { findTarget } from "../../cli/inspect/target";
import { lookInCluster } from "../../preflight/lookInCluster";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { discover, discoverObjects } from "../../runtime/kubernetes/discovery";
import { ApiUnreachableError, isApiError } from "../../runtime/kubernetes/errors";
import { errorOf } from "./support/failures";
import { CONFIG_MAPS, configMap } from "./support/objects";
import { item, ReflectorBench } from "./support/reflectorBench";
import { type ApiCall, json, refuse, sendEvent, TestApiServer } from "./support/testApiServer";

const metadata = { resourceVersion: "9" };
/** What is no list of ConfigMaps, and what a proxy, a cache or an aggregated API server has answered with 200 in its place. */
const WRONG: Readonly<Record<string, unknown>> = {
  null: null,
  "a text": "ok",
  "an empty array": [],
  "an empty object": {},
  "a login page's JSON": { error: "please log in" },
  "a Status without metadata": { kind: "Status", apiVersion: "v1", status: "Failure", code: 500 },
  "a Status": { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" },
  "a Status with a version": { kind: "Status", apiVersion: "v1", metadata, status: "Failure" },
  "a single object": { ...configMap({ namespace: "shop" }), metadata: { ...metadata, name: "a" } },
  "a list without items": { kind: "ConfigMapList", apiVersion: "v1", metadata },
  "items without a list": { items: [] },
  "null in place of metadata": { kind: "ConfigMapList", metadata: null, items: [] },
  "no list with null for items": { kind: "Status", metadata, items: null },
  "nothing with null for items": { metadata, items: null },
  "a map of items": { metadata, items: {} },
  "items of null": { metadata, items: [null] },
  "items without metadata": { metadata, items: [{ kind: "ConfigMap" }] },
  "a list of another kind": {
    kind: "SecretList",
    metadata,
    items: [{ kind: "Secret", metadata: { name: "a" } }],
  },
  "a Table": { kind: "Table", apiVersion: "meta.k8s.io/v1", metadata, columnDefinitions: [], rows: [] },
};

describe("an answer with success that is no list", () => {
  let api: TestApiServer;
  let client: KubernetesClient;
  before(async () => {
    api = await TestApiServer.start();
    client = api.client();
  });
  beforeEach(() => api.calls.splice(0));
  after(() => api.stop());

  const isSecondPage = ({ query }: ApiCall) => query.has("continue");
  const firstPage = { metadata: { ...metadata, continue: "next" }, items: [configMap({ name: "a" })] };
  const discovery = { resources: [], versions: [], groups: [], gitVersion: "v1.34.1" };

  /** Everything that reads lists, and what else it is answered first. All lists go through {@link KubernetesClient.list}. */
  const readers: Readonly<
    Record<string, [read: () => Promise<unknown>, other?: (call: ApiCall) => unknown]>
  > = {
    "a list": [() => client.listAll(CONFIG_MAPS, {})],
    "a second page": [
      () => client.listAll(CONFIG_MAPS, {}),
      (call) => (isSecondPage(call) ? undefined : firstPage),
    ],
    "a list of metadata": [() => client.listAll(CONFIG_MAPS, { metadataOnly: true })],
    "a count": [() => client.count(CONFIG_MAPS, {})],
    "the version of a list": [() => client.versionOf(CONFIG_MAPS, {}, new AbortController().signal)],
    "the kinds of a version": [() => discover(client, "apps/v1", "Deployment")],
    "the versions of a group": [
      () => discoverObjects(client, "apps/v1", "Deployment"),
      ({ path }) => (path === "/apis/apps/v1" ? discovery : undefined),
    ],
    doctor: [() => examineCluster(client, []), ({ path }) => (path === "/version" ? discovery : undefined)],
    explain: [() => findTarget(client, "widget/a", {})],
    "the kinds of a cluster": [() => findTarget(client, "widget/a", {}, { operators: [], unreadable: [] })],
  };
  for (const [reader, [read, other = () => undefined]] of Object.entries(readers)) {
    it(`is not taken for ${reader}`, async () => {
      for (const [what, body] of Object.entries(WRONG)) {
        api.answer = (call, response) => json(response, other(call) ?? body);
        const { message } = await errorOf(ApiUnreachableError, read);
        assert.match(message, /something other than the API server answered/, what);
      }
    });
  }

  it("leaves unknown what a preview asks a cluster", async () => {
    api.answer = (_, response) => json(response, WRONG["a Status"]);
    const definitions = await lookInCluster(
      { kubeconfig: api.kubeconfig() },
      (look) => look.operatorDefinitions(),
      { patienceMs: 100 },
    );
    assert.equal(definitions, undefined);
  });

  it("is told from an empty list of metadata, whose items are null", async () => {
    const empty = { kind: "PartialObjectMetadataList", apiVersion: "meta.k8s.io/v1", metadata, items: null };
    api.answer = (_, response) => json(response, empty);
    assert.deepEqual(await client.listAll(CONFIG_MAPS, { metadataOnly: true }), []);
  });
});

describe("a list whose version etcd forgets between two pages", () => {
  let bench: ReflectorBench;
  beforeEach(async () => {
    bench = await ReflectorBench.begin();
  });
  afterEach(() => bench.end());

  /** As the API server refuses, with the token for what is left. */
  const expired = (token: string) => ({ reason: "Expired", code: 410, metadata: { continue: token } });

  it("is completed with what exists by then, and watched from its first page", async () => {
    bench.pages = [
      { items: [item("a", "1")], resourceVersion: "5", more: "second" },
      { items: [item("b", "8")], resourceVersion: "9", more: "third" },
      { items: [item("c", "12")], resourceVersion: "15" },
    ];
    bench.api.answer = (call, response) => {
      const token = call.query.get("continue");
      if (token === "second" || token === "third") return refuse(response, 410, expired(`rest of ${token}`));
      return bench.answer(call, response);
    };
    await bench.start();
    assert.deepEqual(bench.told, ["listing", "set a@1", "set b@8", "set c@12", "listed"]);
    assert.equal((await bench.watch()).call.query.get("resourceVersion"), "5");
  });

  it("is a problem that is said if that never ends", async () => {
    bench.api.answer = (call, response) => {
      if (call.query.has("continue")) return refuse(response, 410, expired("the same"));
      json(response, { metadata: { ...metadata, continue: "second" }, items: [] });
    };
    let now = 0;
    const refused = new Promise<Error>((onRefused) => {
      const later = () => {
        now += 5_000;
        return now;
      };
      void bench.start({ now: later, answersOthers: async () => true, pause: async () => {}, onRefused });
    });
    assert.ok(isApiError(await refused, 410));
  });
});

describe("a watch that must list again", () => {
  let bench: ReflectorBench;
  beforeEach(async () => {
    bench = await ReflectorBench.begin();
  });
  afterEach(() => bench.end());

  for (const [what, body] of [
    ["no list", WRONG["a Status"]],
    ["an empty list without a version", { kind: "ConfigMapList", metadata: {}, items: [] }],
  ] as const) {
    it(`takes nothing for gone, as long as the answer is ${what}`, async () => {
      bench.pages = [{ items: [item("a", "1")], resourceVersion: "5" }];
      await bench.start({ pause: async () => {} });
      const { response } = await bench.watch();
      let wrong = 0;
      bench.api.answer = (call, answered) => {
        if (call.query.has("watch") || wrong === 6) return bench.answer(call, answered);
        wrong++;
        json(answered, body);
      };
      bench.pages = [{ items: [item("a", "1")], resourceVersion: "8" }];
      sendEvent(response, "ERROR", { kind: "Status", code: 410 });
      await bench.watch(2);
      assert.equal(wrong, 6);
      assert.deepEqual(bench.told.slice(3), ["listing", "set a@1", "listed"]);
    });
  }
});
