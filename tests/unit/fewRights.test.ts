import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { formatFinding } from "../../cli/commands/doctor";
import { plain } from "../../cli/common/terminal";
import { listChildren } from "../../cli/diff/listedChildren";
import { liveObjects, type PreviewSession } from "../../cli/diff/session";
import { examineCluster } from "../../cli/doctor/cluster";
import { OBJECT_UID_LABEL, OPERATOR_LABEL, OWNER_UID_LABEL } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { DEFINITION_FILE, definitionFileContent } from "../../runtime/programs/definitionFile";
import { writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { CONFIG_MAPS, observed, operator, widget } from "./support/objects";
import { runArgosy } from "./support/runArgosy";
import { type Answer, json, refuse, useApiServer } from "./support/testApiServer";

const SHOP = operator();
const RUN = "shop-widget-3-abc";
const parameters = [
  { name: "namespace", value: "shop" },
  { name: "name", value: "widget" },
];

/** The objects of the cluster, by the plural of their kinds. */
const THERE: Readonly<Record<string, readonly KubernetesObject[]>> = {
  configmaps: [
    observed(
      "ConfigMap",
      { data: { [DEFINITION_FILE]: definitionFileContent(SHOP) } },
      { name: "shop-definition", namespace: "argosy" },
    ),
    observed("ConfigMap", {}, { name: "plain", uid: "plain-uid" }),
    observed("ConfigMap", {}, { labels: { [OWNER_UID_LABEL]: "widget-uid" } }),
  ],
  widgets: [
    widget(),
    widget({
      name: "going",
      deletionTimestamp: "2026-01-01T11:00:00Z",
      finalizers: ["argosy.dev/argosy.shop"],
    }),
  ],
  workflows: [
    observed(
      "Workflow",
      { spec: { arguments: { parameters } }, status: { phase: "Succeeded", message: "patched ConfigMap x" } },
      {
        name: RUN,
        namespace: "argosy",
        labels: { [OPERATOR_LABEL]: "argosy.shop", [OBJECT_UID_LABEL]: "widget-uid" },
      },
    ),
  ],
  events: [
    observed("Event", {
      ...{ type: "Warning", reason: "UsedSecretNotGiven", message: "it has no label", count: 3 },
      ...{ lastTimestamp: "2026-01-01T11:00:00Z", involvedObject: { uid: "widget-uid" } },
    }),
  ],
};
const DISCOVERY: Readonly<Record<string, unknown>> = {
  "/version": { gitVersion: "v1.34.0" },
  "/apis": { groups: [{ preferredVersion: { groupVersion: "shop.example.com/v1" } }] },
  "/api/v1": { resources: [{ name: "configmaps", kind: "ConfigMap", namespaced: true }] },
  "/apis/shop.example.com/v1": { resources: [{ name: "widgets", kind: "Widget", namespaced: true }] },
  "/apis/argoproj.io/v1alpha1": { resources: [{ name: "workflows" }, { name: "eventsources" }] },
};

/** An API server for an account that has every right of the ClusterRole `view` in these namespaces, and none elsewhere. */
function viewerOf(...namespaces: readonly string[]): Answer {
  return ({ method, path: asked, query }, response) => {
    if (DISCOVERY[asked] !== undefined) return json(response, DISCOVERY[asked]);
    const [, group = "", namespace = "", plural = "", name] =
      /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?$/.exec(asked) ?? [];
    if (!namespaces.includes(namespace) || group === "events.k8s.io") {
      const verb = name === undefined ? "list" : "get";
      const place = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
      const message = `${plural} is forbidden: User "viewer" cannot ${verb} resource "${plural}" in API group "${group}" ${place}`;
      return refuse(response, 403, { message });
    }
    const here = (THERE[plural] ?? []).filter(({ metadata }) => metadata.namespace === namespace);
    if (method === "POST") return json(response, { ...here[0], status: {} });
    if (method === "PATCH") return json(response, here[0]);
    if (name !== undefined) {
      const object = here.find(({ metadata }) => metadata.name === name);
      return object ? json(response, object) : refuse(response, 404);
    }
    const chosen = here.filter(({ metadata, ...content }) => {
      const fields = query.get("fieldSelector") ?? "";
      const uid = (content as { involvedObject?: { uid: string } }).involvedObject?.uid;
      const isNamed = !fields.startsWith("metadata.name=") || fields === `metadata.name=${metadata.name}`;
      const isAbout =
        !fields.startsWith("involvedObject.uid=") || fields.startsWith(`involvedObject.uid=${uid},`);
      const isDefinition = (query.get("labelSelector") ?? "").includes("component=definition");
      return isNamed && isAbout && (!isDefinition || "data" in content);
    });
    json(response, { metadata: {}, items: chosen });
  };
}

describe("an account with rights in few namespaces", function () {
  this.timeout(30_000);
  const folder = writeFolder({});
  const kubeconfig = path.join(folder, "kubeconfig");
  const api = useApiServer();
  let client: KubernetesClient;
  before(() => {
    writeFileSync(kubeconfig, api.kubeconfig());
    client = api.client();
  });
  after(() => client.close());

  const both = viewerOf("shop", "argosy");
  const own = viewerOf("shop");
  const ONLY = /because this kubeconfig may list workflows only in the namespace argosy\./;
  const NEITHER =
    /not known, because this kubeconfig may list configmaps neither in all namespaces nor in argosy\./;
  for (const [answer, code, args, says] of [
    [both, 0, ["runs", "shop"], [/shop-widget-3-abc {2}shop\/widget/, ONLY]],
    [both, 0, ["runs", "widget/widget", "-n", "shop"], [/shop-widget-3-abc/, ONLY]],
    [both, 0, ["replay", RUN, "--no-wait"], [/shop\/widget/]],
    [both, 1, ["replay", "other"], [/Whether there is a run other .* is not known/, ONLY]],
    [both, 3, ["explain", "widget/widget", "-n", "shop"], [/3 times: UsedSecretNotGiven: it has no label/]],
    [own, 1, ["runs", "shop"], [/cannot list resource "workflows" .* in the namespace "argosy"/]],
    [own, 1, ["logs", "widget/widget", "-n", "shop"], [NEITHER]],
    [own, 1, ["logs", "shop"], [/Whether there is an operator shop/, NEITHER]],
    [
      both,
      1,
      ["logs", "configmap/plain", "-n", "shop"],
      [/may list configmaps only in the namespace argosy\./],
    ],
    [
      both,
      1,
      ["logs", "other"],
      [/Whether there is an operator other .* only in the namespace argosy\. Known operators: shop\./],
    ],
    [own, 0, ["pause", "widget/widget", "-n", "shop"], [NEITHER, /If none is, only argosy dev/]],
    [
      own,
      3,
      ["explain", "widget/widget", "-n", "shop"],
      [/It was never handled: /, NEITHER, /Ask for the right to list configmaps in all namespaces\./],
    ],
    [
      own,
      3,
      ["explain", "widget/going", "-n", "shop"],
      [/the operator argosy\.shop must release it, and whether it is installed is not known/],
    ],
  ] as const) {
    it(`${code === 0 ? "is shown" : "is told"} what it may see, by argosy ${args.join(" ")}`, async () => {
      api.answer = answer;
      const { result, stdout, stderr } = await runArgosy(...args, "--kubeconfig", kubeconfig);
      const text = `${stdout}${stderr}`;
      assert.equal(result, code, text);
      for (const each of says) assert.match(text, each);
      assert.doesNotMatch(
        text,
        /No operator|no such runs|There is no|remove the finalizer|at the cluster scope/,
      );
    });
  }

  it("sees the children in the namespaces of their owners, and is told that others may be left out", async () => {
    api.answer = own;
    const options = { operator: SHOP, client, childResources: [CONFIG_MAPS] };
    const listed = await listChildren(options, [widget()]);
    assertEach(listed.near(widget()), ({ child }) => child.metadata.name, ["child"]);
    assert.deepEqual(listed.notes, [
      "Some children may be left out, because this kubeconfig may list configmaps only in the namespace shop.",
    ]);
    await assert.rejects(
      listChildren(options, [widget({ namespace: "argosy" })]),
      /in the namespace "argosy"/,
    );
  });

  it("sees the objects of an operator in the namespace that it names", async () => {
    api.answer = own;
    const session = { operator: SHOP, home: "argosy", client } as unknown as PreviewSession;
    const live = await liveObjects(session, "shop");
    assert.deepEqual(
      live?.map(({ metadata }) => metadata.name),
      ["going", "widget"],
    );
    await assert.rejects(
      liveObjects(session),
      /at the cluster scope\. Name one namespace with --namespace\.$/,
    );
  });

  it("is told by argosy doctor what was not checked, and why", async () => {
    api.answer = both;
    const findings = await examineCluster(client, ["unseen"]);
    const lines = findings.map((each) => formatFinding(each, plain)).join("\n");
    assert.match(lines, /✘ operator shop: has no Deployment shop-runner/);
    assert.match(
      lines,
      /! the objects of operator shop: cannot be read .*: widgets is forbidden: .*\n {4}Ask for this right/,
    );
    assert.match(lines, /! operators: are not all known, because .* only in the namespace argosy/);
    assert.doesNotMatch(lines, /operator unseen/);
    api.answer = own;
    const found = (isNamed: boolean) => examineCluster(client, [], new Date(), isNamed);
    const stateOf = async (isNamed: boolean) =>
      (await found(isNamed)).find(({ what }) => what === "operators")?.state;
    // Only some commands need a cluster, but who names one asks about it.
    assert.deepEqual([await stateOf(false), await stateOf(true)], ["warning", "missing"]);
  });
});
