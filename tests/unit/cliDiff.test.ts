import assert from "node:assert/strict";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { plain } from "../../cli/common/terminal";
import { inPlaceOfDeployed } from "../../cli/dev/inPlaceOf";
import { changedFields, commonPart } from "../../cli/diff/changedFields";
import { asDeployed, whyLeftOut } from "../../cli/diff/deployed";
import { asDryRun } from "../../cli/diff/dryRunClient";
import { formatField, formatPreview, formatTotal } from "../../cli/diff/formatPreview";
import { liveObject } from "../../cli/diff/liveObject";
import type { ObjectPreview } from "../../cli/diff/preview";
import { SecretMade } from "../../cli/diff/secretMade";
import { fakeOf, otherFakeOf, SecretMask } from "../../cli/diff/secretMask";
import type {
  InstalledOperator,
  InstalledOperators,
  UnreadableOperator,
} from "../../cli/inspect/readInstalled";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import type { DesiredChild } from "../../runtime/write/desiredChildren";
import { loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { CONFIG_MAPS, observed } from "./support/objects";

const base64 = (text: string) => Buffer.from(text).toString("base64");
const configMap = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name },
  ...more,
});
const secretOf = (name: string, more: object = {}) => ({ ...configMap(name, more), kind: "Secret" });

describe("the fields that would change", () => {
  const object = (more: object) => configMap("a", more);

  for (const [what, live, wanted, changed] of [
    [
      "those that differ, by their paths",
      { data: { "a.b/c": "1", gone: "x" }, spec: { on: true } },
      { data: { "a.b/c": "2" }, spec: { on: true, more: { deep: 1 } } },
      [
        { path: ".data['a.b/c']", live: "1", wanted: "2" },
        { path: ".data.gone", live: "x" },
        { path: ".spec.more.deep", wanted: 1 },
      ],
    ],
    [
      "also those whose keys every object of JavaScript inherits",
      { data: { a: "1" } },
      { data: { a: "1", constructor: "2" } },
      [{ path: ".data.constructor", wanted: "2" }],
    ],
    [
      "none of the server's, and not the status",
      { metadata: { name: "a", resourceVersion: "1", managedFields: [], uid: "u" }, status: { a: 1 } },
      { metadata: { name: "a", resourceVersion: "2", generation: 2 }, status: { a: 2 } },
      [],
    ],
  ] as const)
    it(`are ${what}`, () => assert.deepEqual(changedFields(live, wanted), changed));

  it("name entries of a list by their names, or else by their places", () => {
    const spec = (image: string, command: string[], ports: object[]) =>
      object({ spec: { containers: [{ name: "main", image, command }], ports } });
    assert.deepEqual(
      changedFields(spec("a:1", ["x"], [{ port: 1 }]), spec("a:2", ["x", "y"], [{ port: 2 }, { port: 3 }])),
      [
        { path: ".spec.containers[main].image", live: "a:1", wanted: "a:2" },
        { path: ".spec.containers[main].command", live: ["x"], wanted: ["x", "y"] },
        { path: ".spec.ports[0].port", live: 1, wanted: 2 },
        { path: ".spec.ports[1].port", wanted: 3 },
      ],
    );
    const named = (...names: string[]) => object({ spec: names.map((name) => ({ name })) });
    assert.deepEqual(changedFields(named("a", "b"), named("b", "a")), [
      { path: ".spec", live: ["a", "b"], wanted: ["b", "a"] },
    ]);
  });

  it("are some exactly if two values differ", () => {
    const value = fc.jsonValue({ maxDepth: 4 });
    fc.assert(
      fc.property(value, value, (one, other) => {
        const [live, wanted] = [one, other].map((spec) => JSON.parse(JSON.stringify({ spec })) as object);
        assert.equal(changedFields(live ?? {}, wanted ?? {}).length === 0, isDeepStrictEqual(live, wanted));
      }),
    );
  });

  it("can be limited to what a manifest says", () => {
    const manifest = { spec: { template: { labels: { a: "1" } } } };
    const live = { spec: { template: { labels: { a: "0", uid: "x" } }, selector: 1 } };
    assert.deepEqual(commonPart(live, manifest), { spec: { template: { labels: { a: "0" } } } });
  });

  it("are shown shortly, without what a terminal would act on", () => {
    assert.equal(formatField({ path: ".a", live: 1, wanted: 2 }), ".a: 1 → 2");
    assert.equal(formatField({ path: ".a", live: "x" }), '.a: gone, was "x"');
    assert.ok(!formatField({ path: ".a\u001b[2J", wanted: "\u001b[2J" }).includes("\u001b"));
    assert.ok(formatField({ path: ".a", wanted: "x".repeat(10_000) }).length < 300);
  });
});

describe("SecretMask", () => {
  const secret = (name: string, data: Record<string, string>) => {
    const last = { "kubectl.kubernetes.io/last-applied-configuration": JSON.stringify({ data }) };
    const encoded = Object.fromEntries(Object.entries(data).map(([key, text]) => [key, base64(text)]));
    return observed("Secret", { data: encoded }, { name, uid: name, annotations: { note: "kept", ...last } });
  };

  it("gives the same fake each time, which says nothing of the value", () => {
    const [one, other] = ["first-value", "other-value"].map((password) =>
      new SecretMask().given(secret("db", { password })),
    );
    assert.deepEqual(one, other);
    assert.deepEqual(one?.["data"], { password: base64(fakeOf(secret("db", {}), "password")) });
    assert.deepEqual(one?.metadata.annotations, { note: "kept" });
    assert.notEqual(fakeOf(secret("db", {}), "a"), fakeOf(secret("db", {}), "b"));
  });

  it("leaves everything else as it is", () => {
    const map = configMap("a", { data: { a: "b" } });
    assert.deepEqual(new SecretMask().given([map, null]), [map, null]);
    const open = secret("db", { password: "first-value" });
    assert.equal(new SecretMask(true).given(open), open);
  });

  it("puts the value back where a Secret has the fake in it, even if it is no text", () => {
    const binary = Buffer.from([0, 255, 128, 10]);
    const mask = new SecretMask();
    const given = {
      ...secret("db", { text: "first-value" }),
      data: { raw: binary.toString("base64"), text: base64("first-value") },
    };
    const { data } = mask.given(given) as unknown as { data: { raw: string; text: string } };
    const fake = Buffer.from(data.text, "base64").toString();
    const stringData = { url: `db://me:${fake}@host?${fake}` };
    const restored = { raw: binary.toString("base64"), url: base64("db://me:first-value@host?first-value") };
    assert.deepEqual(
      mask.restored(secretOf("child", { data: { raw: data.raw }, stringData })),
      secretOf("child", { data: restored }),
    );
  });

  it("puts it back nowhere else: it would be in messages and in other objects", () => {
    const mask = new SecretMask();
    mask.given(secret("db", { password: "first-value" }));
    const leak = configMap("x", { data: { a: fakeOf(secret("db", {}), "password") } });
    assert.equal(mask.restored(leak), leak);
  });

  it("shows no value: not of a Secret, not in another field, not in a text, however short the Secret's is", () => {
    const mask = new SecretMask();
    mask.given(secret("db", { password: "first-value", pin: "1234" }));
    mask.restored(secretOf("n", { stringData: { p: "answered-value" } }));
    mask.restored(secretOf("m", { stringData: { p: "further-value" } }));
    const fields = mask.fields(
      [{ path: ".data.pin", live: base64("1234"), wanted: base64("5678") }],
      () => true,
    );
    assert.deepEqual(fields, [{ path: ".data.pin", live: "***", wanted: "***" }]);
    const copied = mask.fields(
      [{ path: ".data.copy", live: "url first-value", wanted: { deep: "answered-value" } }],
      () => false,
    );
    assert.deepEqual(copied, [{ path: ".data.copy", live: "url ***", wanted: { deep: "***" } }]);
    assert.equal(mask.text(`first-value ${base64("answered-value")} further-value`), "*** *** ***");
  });
});

describe("a field that is made of Secrets", () => {
  const child = (name: string, content: object): DesiredChild => ({
    resource: CONFIG_MAPS,
    manifest: configMap(name, content),
    update: "apply",
    ownerUid: "u",
  });
  const data = { url: "a", kept: "b" };
  const list = [{ host: "x" }, { key: "1" }];

  it("is one in which two answers differ, with all that is in it and around it", () => {
    const one = child("a", { data, list });
    const other = child("a", { data: { ...data, url: "c" }, list: [list[0], { key: "2" }] });
    const isMade = new SecretMade([other]).fieldsOf(one);
    // Another client may have put an entry before it.
    for (const path of [".data.url", ".data.url.deeper", ".data", ".list", ".list[7].key"])
      assert.ok(isMade(path), path);
    for (const path of [".data.kept", ".data.urls", ".list[1].host", ".metadata"])
      assert.ok(!isMade(path), path);
  });

  it("is each if the other answer has no such child, or if there is none", () => {
    for (const other of [[child("b", { data })], undefined])
      assert.ok(new SecretMade(other).fieldsOf(child("a", { data }))(".data.kept"));
  });

  it("has nothing in common in the two answers, not even a character", () => {
    const secret = secretOf("s");
    const [one, other] = [fakeOf(secret, "key"), otherFakeOf(secret, "key")];
    assert.ok(one.length !== other.length && ![...one].some((character) => other.includes(character)));
  });
});

describe("a dry run", () => {
  it("is what every request becomes that could write", () => {
    for (const method of ["POST", "PUT", "PATCH"] as const) {
      const { path } = asDryRun({ method, path: "/api/v1/pods?fieldManager=a%2Fb" });
      assert.equal(new URL(path, "https://api").searchParams.get("dryRun"), "All");
      assert.equal(new URL(path, "https://api").searchParams.get("fieldManager"), "a/b");
    }
    const { body } = asDryRun({
      method: "DELETE",
      path: "/api/v1/pods/a",
      body: { preconditions: { uid: "u" } },
    });
    assert.deepEqual(body, { preconditions: { uid: "u" }, dryRun: ["All"] });
    const read = { method: "GET", path: "/api/v1/pods" } as const;
    assert.equal(asDryRun(read), read);
  });
});

describe("the operator that a preview is made of", () => {
  const root = writeFolder({ "widget/crd.yaml": widgetCrd(), "widget/main.py": "" });
  const folder = path.join(root, "widget");
  const load = (more: object = {}) => loadDefinition(folder, { ...widgetDefinition, ...more });
  const installed = (installation: string, more: object = {}): InstalledOperator => ({
    ...load(),
    installation,
    home: `${installation}-home`,
    ...more,
  });
  const seen = (operators: readonly InstalledOperator[], unreadable: readonly UnreadableOperator[] = []) => ({
    operators,
    unreadable,
  });

  it("has the installation and the namespaces of the deployed one", () => {
    const { operator, home, notes } = asDeployed(load(), seen([installed("shop", { namespaces: ["a"] })]));
    assert.deepEqual(
      [operator.installation, operator.namespaces, home, notes],
      ["shop", ["a"], "shop-home", []],
    );
  });

  it("is said to have other variables, by their names alone", () => {
    const { operator, notes } = asDeployed(
      load({ env: { LEVEL: "info" } }),
      seen([installed("shop", { env: { LEVEL: "hidden" } })]),
    );
    assert.deepEqual(operator.env, { LEVEL: "info" });
    assert.match(notes.join(), /env\.LEVEL/);
    assert.doesNotMatch(notes.join(), /hidden/);
  });

  it("is said not to be deployed, and must be named if there are several", () => {
    assert.match(asDeployed(load(), seen([])).notes.join(), /is not deployed to this cluster/);
    const several = seen([installed("shop"), installed("other")]);
    assert.throws(() => asDeployed(load(), several), /Name one with --installation: shop, other\./);
    assert.equal(asDeployed(load(), several, "other").home, "other-home");
    assert.throws(() => asDeployed(load(), several, "third"), /Known installations: shop, other\./);
  });

  it("says why it does not watch an object, and what to do", async () => {
    const watch = { apiVersion: "v1", kind: "ConfigMap", labels: { tier: "web" } };
    const { crd: _, ...definition } = widgetDefinition;
    const operator = loadDefinition(folder, { ...definition, watch });
    const known = seen([{ ...operator, installation: "shop", home: "home" }]);
    const why = async (metadata: object) => {
      const object = configMap("a", { metadata: { name: "a", namespace: "default", ...metadata } });
      const client = { namespace: "default", get: async () => object } as unknown as KubernetesClient;
      return liveObject(client, "configmap/a", [operator], known, {}).catch(({ message }: Error) => message);
    };
    assert.equal(
      await why({}),
      "widget does not watch configmap/a. It watches only objects with the labels tier=web: give the object these labels, or change watch.labels in operator.yaml.",
    );
    const managedFields = [
      {
        ...{ manager: "argosy/shop.widget", operation: "Apply", apiVersion: "v1", fieldsType: "FieldsV1" },
        fieldsV1: { "f:metadata": { "f:labels": { "f:argosy.dev/owner-uid": {} } } },
      },
    ];
    assert.match(
      String(await why({ labels: { tier: "web" }, managedFields })),
      /^widget does not watch configmap\/a\. It watches neither what it created itself, /,
    );
  });

  it("is not guessed if the definition of the deployed one cannot be read", () => {
    const unreadable = (name: string): UnreadableOperator => ({
      ...{ name, home: "team", argosyVersion: "99.1.0", remedy: "Use the command of that version: npx it" },
      complaint: "deployed by Argosy 99.1.0, and this command cannot read its definition: a flaw",
    });
    const says = {
      name: "CommandError",
      message:
        "The operator widget in the namespace team was deployed by Argosy 99.1.0, and this command cannot read its " +
        "definition: a flaw. Use the command of that version: npx it",
    };
    const ours = unreadable("widget");
    assert.throws(() => asDeployed(load(), seen([], [ours])), says);
    assert.throws(() => asDeployed(load(), seen([installed("shop")], [ours])), says);
    assert.throws(() => asDeployed(load(), seen([installed("shop")], [ours]), "other"), says);
    assert.equal(asDeployed(load(), seen([installed("shop")], [ours]), "shop").home, "shop-home");
    assert.equal(asDeployed(load(), seen([installed("shop")], [unreadable("other")])).home, "shop-home");
  });

  it("stands for election to the Lease of the deployed one if argosy dev runs it", () => {
    const placed = (isOfStack: boolean, ...deployed: InstalledOperator[]) => {
      const { operator, namespace } = inPlaceOfDeployed(load(), seen(deployed), isOfStack);
      return [operator.installation, namespace];
    };
    const place = (...deployed: InstalledOperator[]) => placed(false, ...deployed);
    assert.deepEqual(place(), ["argosy", "argosy"]);
    assert.deepEqual(place(installed("shop")), ["shop", "shop-home"]);
    assert.deepEqual(place(installed("shop", { name: "other" })), ["argosy", "argosy"]);
    assert.deepEqual(place(installed("shop"), installed("argosy")), ["argosy", "argosy-home"]);
    assert.throws(
      () => place(installed("shop"), installed("other")),
      /installations shop, other\. .*--stack/,
    );
    assert.throws(
      () => placed(true, installed("shop")),
      /by the installation shop, .* is of the installation argosy\./,
    );
    assert.deepEqual(placed(true, installed("shop"), installed("argosy")), ["argosy", "argosy-home"]);
  });

  it("is said by argosy dev to be perhaps deployed, unless it is seen, if the account may not see all", () => {
    const unseen = "this kubeconfig may list configmaps only in the namespace argosy";
    const note = (known: InstalledOperators, isOfStack = false) =>
      inPlaceOfDeployed(load(), known, isOfStack).note;
    assert.equal(
      note({ ...seen([installed("shop", { name: "other" })]), unseen }),
      `widget: whether it is deployed to this cluster is not known, because ${unseen}. If it is, both may reconcile the same ` +
        "objects. Ask for the right to list configmaps in all namespaces.",
    );
    assert.match(note({ ...seen([]), unseen }, true) ?? "", /^widget: whether/);
    for (const known of [seen([]), { ...seen([installed("shop")]), unseen }])
      assert.equal(note(known), undefined);
  });

  it("is run by argosy dev in the place of a deployed one whose runs have pods, but not of one that it cannot read", () => {
    const pods = installed("argosy", { execution: "pod" });
    assert.equal(inPlaceOfDeployed(load(), seen([pods]), false).namespace, "argosy-home");
    const unread = { name: "widget", home: "team", complaint: "unreadable", remedy: "Deploy it." };
    assert.throws(
      () => inPlaceOfDeployed(load(), seen([], [unread]), false),
      /widget in the namespace team was unreadable/,
    );
  });

  it("is left out if its handler may act, or gets Secrets", () => {
    assert.equal(whyLeftOut(load()), undefined);
    assert.match(whyLeftOut(load({ secretEnv: { A: { secret: "s", key: "k" } } })) ?? "", /secretEnv/);
  });
});

describe("a preview for people", () => {
  const about = {
    operator: "cache",
    installation: "argosy",
    object: { kind: "Cache", namespace: "shop", name: "sessions" },
  };
  const child = (name: string, namespace = "shop") => ({
    object: { apiVersion: "v1", kind: "ConfigMap", namespace, name },
    fields: [],
  });
  const fields = ["a", "b", "c", "d"].map((key) => ({ path: `.data.${key}`, wanted: key }));

  it("has a line for each child, and with details one for each field", () => {
    const preview: ObjectPreview = {
      ...about,
      result: "changed",
      children: [
        { ...child("new"), fate: "created", fields: fields.slice(0, 1) },
        { ...child("other-name"), fate: "changed", fields },
        { ...child("old", "elsewhere"), fate: "deleted" },
        { ...child("late"), fate: "waits", after: [{ kind: "Job", namespace: "shop", name: "first" }] },
      ],
    };
    assert.equal(
      formatPreview(preview, plain),
      [
        "Cache shop/sessions",
        "  + ConfigMap new",
        "  ~ ConfigMap other-name     .data.a, .data.b, .data.c and 1 more",
        "  - ConfigMap elsewhere/old",
        "  … ConfigMap late           waits for Job first",
      ].join("\n"),
    );
    assert.match(formatPreview(preview, plain, true), /\+ ConfigMap new\n {6}\.data\.a: "a"\n/);
  });

  it("says why nothing would change, or what went wrong", () => {
    const of = (result: ObjectPreview["result"]) => formatPreview({ ...about, result, children: [] }, plain);
    assert.equal(of("unchanged"), "Cache shop/sessions: nothing would change");
    assert.equal(of("paused"), "Cache shop/sessions: It is paused: its operator does nothing for it.");
    const failure = { reason: "HandlerCrashed" as const, message: "it broke", log: "KeyError\n" };
    assert.equal(
      formatPreview({ ...about, result: "failed", children: [], failure }, plain),
      "Cache shop/sessions\n  ✘ HandlerCrashed: it broke\n    KeyError",
    );
    // At the beginning of a line, it would be a command to GitHub, or the end of the block in the comment of .ci/diff.
    const lines = { reason: "HandlerError" as const, message: "size\n::stop-commands::x\n~~~~~~" };
    assert.match(
      formatPreview({ ...about, result: "failed", children: [], failure: lines }, plain),
      /HandlerError: size ::stop-commands::x ~~~~~~$/,
    );
  });

  it("counts", () => {
    const results = ["changed", "unchanged", "paused", "deleting", "failed"] as const;
    assert.equal(
      formatTotal(results.map((result) => ({ result }))),
      "5 objects: 1 would change, 1 would not, 1 paused, 1 being deleted, 1 failed",
    );
  });
});
