import assert from "node:assert/strict";
import fc from "fast-check";
import { statusChecker } from "../../../runtime/base/contentSchema";
import { ReconcileFailure } from "../../../runtime/base/failure";
import { resourcePath } from "../../../runtime/base/resource";
import { clean } from "../../../runtime/base/text";
import type { HandlerEvent } from "../../../runtime/handler/contract";
import { parseAnswer, readAnswerLine } from "../../../runtime/handler/parseAnswer";
import { desiredChildren } from "../../../runtime/write/desiredChildren";
import { fuzz } from "../support/fuzz";
import { hostileJson, hostileText, mostly } from "../support/hostile";
import { CLUSTER_ROLES, CONFIG_MAPS, operator, widget } from "../support/objects";

const NAMESPACES = ["shop", "warehouse"];
const EVENTS: readonly HandlerEvent[] = ["reconcile", "finalize"];

const words = fc.dictionary(hostileText, hostileText, { maxKeys: 3 });
const reference = mostly({
  apiVersion: fc.constant("shop.example.com/v1"),
  kind: fc.constant("Widget"),
  name: fc.constant("widget"),
  uid: fc.constantFrom("widget-uid", "another-uid"),
});
const child = mostly({
  apiVersion: fc.constantFrom("v1", CLUSTER_ROLES.apiVersion),
  kind: fc.constantFrom("ConfigMap", "ClusterRole", "Secret"),
  metadata: mostly({
    name: fc.constantFrom("a", "b", "settings"),
    namespace: fc.constantFrom(...NAMESPACES, "elsewhere"),
    labels: words,
    annotations: words,
    ownerReferences: fc.array(reference, { maxLength: 2 }),
    finalizers: fc.array(hostileText, { maxLength: 2 }),
  }),
  data: words,
});
const answer = mostly({
  children: fc.array(child, { maxLength: 3 }),
  status: hostileJson,
  conditions: fc.array(
    mostly({ type: hostileText, status: fc.constant("True"), reason: hostileText, message: hostileText }),
    { maxLength: 3 },
  ),
  events: fc.array(mostly({ type: fc.constant("Normal"), reason: hostileText, note: hostileText }), {
    maxLength: 3,
  }),
  requeueAfterSeconds: fc.nat(),
  id: fc.constantFrom("widget-uid/3", "another/1"),
});

/** A failure that the contract knows, with a message that a condition can carry. */
function assertRefusal(error: unknown): void {
  assert.ok(error instanceof ReconcileFailure, `${error} is no failure of the contract`);
  assert.equal(error.reason, "InvalidAnswer");
  assert.equal(error.permanent, false);
  assert.ok(error.message.length < 1000, "the message is too long to be read");
  assert.match(clean(error.message), /^the handler's answer is wrong: /);
}

/** What the engine would apply; undefined where it refuses the line. */
function take(line: string, event: HandlerEvent) {
  try {
    const read = parseAnswer(readAnswerLine(line).answer, event);
    const children = "children" in read ? read.children : [];
    return desiredChildren(children, widget(), operator({ namespaces: NAMESPACES }), [
      CONFIG_MAPS,
      CLUSTER_ROLES,
    ]);
  } catch (error) {
    assertRefusal(error);
    return undefined;
  }
}

describe("fuzz: an answer", () => {
  fuzz("that is any text is taken or refused as the contract has it", hostileText, (line) => {
    for (const event of EVENTS) take(line, event);
  });

  fuzz("that is any JSON is accepted or refused as the contract says", hostileJson, (value) => {
    for (const event of EVENTS) take(JSON.stringify(value), event);
  });

  fuzz("that looks like one reaches only its operator's kinds, namespaces and owner", answer, (value) => {
    for (const { manifest, resource } of take(JSON.stringify(value), "reconcile") ?? []) {
      const { namespace, name, labels, annotations, ownerReferences } = manifest.metadata;
      const path = resourcePath(resource, manifest.metadata);
      if (resource === CONFIG_MAPS) {
        assert.ok(NAMESPACES.includes(namespace ?? ""), namespace);
        assert.equal(path, `/api/v1/namespaces/${namespace}/configmaps/${encodeURIComponent(name)}`);
      } else assert.equal(path.split("/").length, 6, path);
      assert.ok(!/\/\.{1,2}(\/|$)/.test(decodeURIComponent(path)), path);
      assert.equal(labels?.["argosy.dev/child-of"], "argosy.shop");
      const owners = ownerReferences?.map(({ uid }) => uid) ?? [];
      const marks = [labels?.["argosy.dev/owner-uid"], annotations?.["argosy.dev/owner"]];
      if (namespace === "shop")
        assert.deepEqual([owners, marks], [["widget-uid"], ["widget-uid", undefined]]);
      else assert.deepEqual([owners, marks], [[], ["widget-uid", "shop/widget"]]);
      assert.equal(Object.getPrototypeOf(manifest), Object.prototype);
      assert.equal(Object.getPrototypeOf(manifest.metadata), Object.prototype);
      assert.doesNotThrow(() => JSON.stringify(manifest));
    }
    assert.deepEqual(Object.keys(Object.prototype), [], "the prototype of all objects has been changed");
  });

  const deep = fc.tuple(fc.integer({ min: 1, max: 50_000 }), fc.constantFrom("[", '{"a":'), fc.boolean());
  fuzz(
    "of any depth is taken or refused, and what is taken can be sent",
    deep,
    ([levels, open, inChild]) => {
      const value =
        open.repeat(levels) + (open === "[" ? "" : "1") + (open === "[" ? "]" : "}").repeat(levels);
      const start = '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":';
      const line = inChild ? `{"children":[${start}${value}}]}` : `{"children":[],"id":${value}}`;
      for (const { manifest } of take(line, "reconcile") ?? []) {
        assert.ok(levels < 500);
        assert.doesNotThrow(() => JSON.stringify(manifest));
      }
    },
    { cost: 10 },
  );

  const schema = {
    type: "object",
    properties: {
      phase: { type: "string" },
      counts: { type: "object", additionalProperties: { type: "integer" } },
    },
  };
  const check = statusChecker(schema);
  const status = mostly({ phase: hostileText, counts: fc.dictionary(hostileText, fc.integer()) });
  fuzz("has a status that fits the author's schema, or is told why not", status, (value) => {
    const complaint = check(value);
    const unknown = Object.keys(value).filter(
      (key) => !["phase", "counts", "conditions", "observedGeneration"].includes(key),
    );
    if (unknown.length > 0) assert.ok(complaint, `${unknown} went through`);
    if (complaint !== undefined) assert.match(complaint, /^status/);
  });
});
