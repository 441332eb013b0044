import assert from "node:assert/strict";
import type { ChildStore } from "../../runtime/children/childStore";
import { lookAtObjects } from "../../runtime/pod/resync/lookAtObjects";
import { FULL_LOOK_RESYNCS, Needs } from "../../runtime/pod/resync/needs";
import { childrenFingerprint, contentFingerprint } from "../../runtime/pod/withoutWatches/footprint";
import { WIDGETS, widget } from "./support/objects";
import { json, TestApiServer } from "./support/testApiServer";

const [group] = WIDGETS.apiVersion.split("/");
const OPERATOR = {
  installation: "argosy",
  name: "shop",
  formerNames: [],
  namespaces: "all",
  children: [],
  uses: {},
  schedules: {},
  resyncSeconds: 600,
  customResource: { group, version: "v1", kind: WIDGETS.kind, plural: WIDGETS.plural, scope: "Namespaced" },
} as unknown as Parameters<typeof lookAtObjects>[0]["operator"];

describe("a look at all objects of an operator", () => {
  it("is not stopped by one that cannot be looked at: that one gets a run, which says why", async () => {
    const strange = { metadata: { ...widget().metadata, name: "strange", managedFields: {} } };
    const status = { observedGeneration: 1, conditions: [{ type: "Ready", status: "True" }] };
    const items = [{ ...widget(), ...strange, status }, widget({ name: "other", uid: "other" })];
    const api = await TestApiServer.start((_, response) =>
      json(response, { metadata: { resourceVersion: "5" }, items }),
    );
    const client = api.client();
    try {
      const told: string[] = [];
      const looked = await lookAtObjects({
        operator: OPERATOR,
        client,
        namespace: "argosy",
        program: undefined,
        now: Date.now(),
        onError: (what) => void told.push(what),
      });
      assert.deepEqual(
        looked.map(({ name, need }) => [name, need]),
        [
          ["strange", "urgent"],
          ["other", "urgent"],
        ],
      );
      assert.deepEqual(told, ["shop/strange"]);
    } finally {
      client.close();
      await api.stop();
    }
  });
});

describe("an object that needs no run", () => {
  const children = { of: () => [] } as unknown as ChildStore;

  /** Which of these resyncs give a run to an object that is as its last run left it. */
  function turnsOf(uid: string, resyncs: readonly number[]): number[] {
    const object = widget({ uid }, { status: { observedGeneration: 3 } });
    const memory = {
      kinds: [],
      created: [],
      content: contentFingerprint(object, OPERATOR),
      children: childrenFingerprint([], OPERATOR),
    };
    const verdictAt = "2026-01-01T00:00:00Z";
    const ready = { type: "Ready", status: "True", reason: "Ready", message: "" } as const;
    const left = { memory, conditions: [{ ...ready, lastTransitionTime: verdictAt }], verdictAt };
    return resyncs.filter((resync) => {
      const now = resync * 1000 * OPERATOR.resyncSeconds;
      const needs = new Needs({ operator: OPERATOR, program: undefined, now }, children, undefined);
      return needs.of(object, left) !== undefined;
    });
  }
  const uids = Array.from({ length: 100 }, (_, index) => `uid-${index}`);

  it("gets one all the same in one of each ten resyncs, and not all objects get it in the same one", () => {
    const resyncs = Array.from({ length: 10 * FULL_LOOK_RESYNCS }, (_, index) => index);
    for (const uid of uids) {
      const rounds = turnsOf(uid, resyncs).map((resync) => Math.floor(resync / FULL_LOOK_RESYNCS));
      assert.deepEqual(rounds, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9], uid);
    }
    const first = new Set(uids.map((uid) => turnsOf(uid, resyncs)[0]));
    assert.equal(first.size, FULL_LOOK_RESYNCS);
  });

  it("gets one too if only every second resync takes place, or every fifth", () => {
    for (const step of [2, 5]) {
      const resyncs = Array.from({ length: step * FULL_LOOK_RESYNCS }, (_, index) => 1 + step * index);
      for (const uid of uids) assert.equal(turnsOf(uid, resyncs).length, step, `${uid}, every ${step}`);
    }
  });
});
