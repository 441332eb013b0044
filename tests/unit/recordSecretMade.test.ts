import assert from "node:assert/strict";
import type { Question } from "../../cli/record/draft";
import { withoutMade } from "../../cli/record/secretMade";
import type { JsonObject } from "../../runtime/base/objects";
import type { HandlerAnswer } from "../../runtime/handler/contract";

describe("what a fixture has of things that are made of Secrets", () => {
  const child = (name: string, content: JsonObject, namespace?: string): JsonObject => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, ...(namespace !== undefined && { namespace }) },
    ...content,
  });
  const question = (more: Partial<Question>): Question => ({
    event: "reconcile",
    object: { metadata: { name: "a", namespace: "shop" } },
    children: [],
    used: {},
    ...more,
  });
  const answer = (hash: string, list: string[] = [hash, "x"]) =>
    ({
      children: [child("made", { data: { hash, kept: "answered" }, list, both: { deep: hash } })],
      status: { hash, kept: "answered" },
      state: { hash },
    }) as unknown as HandlerAnswer;

  it("is what the handler makes of the fakes, and all else is as it was", () => {
    const live = (hash: string) => ({
      data: { hash, kept: "live", own: "live" },
      list: [hash, "live"],
      both: { deep: hash },
    });
    const status = (hash: string) => ({ hash, kept: "live", own: "live" });
    const of = (hash: string) =>
      question({
        object: { metadata: { name: "a", namespace: "shop" }, status: status(hash) },
        children: [child("made", live(hash), "shop"), child("foreign", live("real"), "shop")],
        state: { hash, more: 1 },
      });
    assert.deepEqual(withoutMade(of("real"), answer("one"), answer("two")), of("one"));
  });

  it("is all of a list that has another length, and of what only one answer has", () => {
    const given = question({ children: [child("made", { list: ["real", "x", "y"] }, "shop")] });
    const { children } = withoutMade(given, answer("one"), answer("two"));
    assert.deepEqual(children[0]?.["list"], ["one", "x"]);
    const none = { children: [] } as unknown as HandlerAnswer;
    assert.deepEqual(withoutMade(given, answer("one"), none).children[0]?.["list"], ["one", "x"]);
  });

  it("is not known of an answer that is an error, or that was not asked for", () => {
    const given = question({
      children: [child("made", { data: { hash: "real" } })],
      state: { hash: "real" },
    });
    const failed: HandlerAnswer = { error: { message: "no" } };
    for (const [one, other] of [
      [failed, failed],
      [undefined, undefined],
    ])
      assert.deepEqual(withoutMade(given, one, other), given);
  });
});
