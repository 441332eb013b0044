import assert from "node:assert/strict";
import { ReconcileFailure } from "../../runtime/base/failure";
import { ownerRangeOf } from "../../runtime/base/names";
import { appliedMarks, checkMarks } from "../../runtime/observe/marks";
import { desiredChildren } from "../../runtime/write/desiredChildren";
import { CONFIG_MAPS, configMap, operator, widget } from "./support/objects";

const CHILDREN = { children: [{ ...CONFIG_MAPS, update: "apply" as const }] };

describe("Argosy's labels and annotations in an answer", () => {
  const refusal = (metadata: Parameters<typeof configMap>[0]) => {
    const answered = [configMap(), configMap({ name: "other", ...metadata })];
    try {
      desiredChildren(answered, widget(), operator(CHILDREN), [CONFIG_MAPS]);
    } catch (error) {
      assert.ok(error instanceof ReconcileFailure, String(error));
      assert.equal(error.reason, "InvalidAnswer");
      return error.message;
    }
    assert.fail("it was not refused");
  };

  it("are refused if they are unknown, with what a handler may mean", () => {
    assert.match(
      refusal({ annotations: { "argosy.dev/aftr": "ConfigMap/b" } }),
      /children\[1\]\.metadata\.annotations has "argosy\.dev\/aftr", which Argosy does not know: .* argosy\.dev\/after and argosy\.dev\/once\.$/,
    );
    assert.match(
      refusal({ labels: { a: "b", "argosy.dev/use-by": "argosy.shop" } }),
      /children\[1\]\.metadata\.labels has "argosy\.dev\/use-by", which Argosy does not know: .* argosy\.dev\/used-by\.$/,
    );
    // A label is no annotation.
    assert.match(refusal({ labels: { "argosy.dev/paused": "true" } }), /labels has "argosy\.dev\/paused"/);
  });

  it("are refused if one is argosy.dev/keep, and nothing keeps a child", () => {
    assert.match(
      refusal({ annotations: { "argosy.dev/keep": "true" } }),
      /annotations has "argosy\.dev\/keep", which Argosy does not know: argosy\.dev\/once lets a child be created only once, and no annotation keeps a child when its object goes\.$/,
    );
  });

  it("are refused if one says that the child was truncated in the request, since it would lose its fields", () => {
    assert.match(
      refusal({ annotations: { "argosy.dev/truncated": "true" } }),
      /annotations has "argosy\.dev\/truncated", so it is the part of a child .*: return the whole child\.$/,
    );
  });

  it("are those of others all the same", () => {
    const foreign = {
      "argosy.example.com/keep": "a",
      "example.com/argosy.dev": "b",
      "argosy.devious/x": "c",
    };
    checkMarks({ name: "a", labels: foreign, annotations: foreign }, "children[0]");
    assert.deepEqual(appliedMarks({ name: "a", labels: foreign, annotations: foreign }), {
      labels: foreign,
      annotations: foreign,
    });
  });

  it("make no child look like its object, that was made of an event, if a handler copies them all", () => {
    const copied = {
      labels: { app: "a", "argosy.dev/event": "deploy", "argosy.dev/child-of": "argosy.other" },
      annotations: { note: "a", "argosy.dev/event-id": "7", "argosy.dev/event-content": "x" },
    };
    const object = widget({ name: "deploy-1", ...copied });
    const [child] = desiredChildren([configMap(copied)], object, operator(CHILDREN), [CONFIG_MAPS]);
    assert.deepEqual(child?.manifest.metadata.labels, {
      app: "a",
      "argosy.dev/child-of": "argosy.shop",
      "argosy.dev/owner-range": ownerRangeOf("widget-uid"),
      "argosy.dev/owner-uid": "widget-uid",
    });
    assert.deepEqual(child?.manifest.metadata.annotations, { note: "a", "argosy.dev/level": "2" });
  });
});
