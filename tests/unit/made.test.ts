import assert from "node:assert/strict";
import { mock } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import type { Cluster } from "../../components/cluster";
import { makesIn, noteMade } from "../../components/made";
import { anotherCopy } from "./support/anotherCopy";
import { fakeRuns } from "./support/fakeRuns";
import { run } from "./support/program";

describe("what the components of a program make", () => {
  const clusterOf = (identity: unknown): Cluster => ({
    provider: undefined,
    identity,
    connection: Promise.resolve(undefined),
  });
  const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const SERVER = "https://one.example.com";
  /** Lets the time pass in which a component may still come. */
  const passLate = () => mock.timers.enable({ apis: ["Date"], now: Date.now() + 5_000 });
  afterEach(() => mock.timers.reset());

  it("counts in the same cluster, and in every one that may be the same", async () => {
    await run(async () => {
      for (const name of ["here", "unknown", "same", "other"]) {
        noteMade(clusterOf(name), [namespace(`in-${name}`)]);
      }
      makesIn(clusterOf("same"))(SERVER);
      makesIn(clusterOf("other"))("https://other.example.com");
      const makes = makesIn(clusterOf("here"))(SERVER);
      passLate();
      const found = ["in-here", "in-unknown", "in-same", "in-other", "nowhere"].map((name) =>
        makes(namespace(name)),
      );
      assert.deepEqual(await Promise.all(found), [true, true, true, false, false]);
      assert.equal(await makes({ kind: "CustomResourceDefinition", metadata: { name: "in-here" } }), false);
    });
  });

  it("counts if a component comes a little later", async () => {
    await run(async () => {
      const makes = makesIn(clusterOf("here"))(SERVER)(namespace("late"));
      await pause(300);
      noteMade(clusterOf("here"), [namespace("late")]);
      assert.equal(await makes, true);
    });
  });

  it("counts if a component of another copy of this package makes it, as a package of the program may bring its own", async () => {
    const others = anotherCopy<typeof import("../../components/made")>("made");
    assert.notEqual(others.noteMade, noteMade);
    await run(async () => {
      others.noteMade(clusterOf("here"), [namespace("argosy")]);
      assert.equal(await makesIn(clusterOf("here"))(SERVER)(namespace("argosy")), true);
    });
  });

  it("counts for a component that asked early, although so many runs followed that its own run is forgotten", async () => {
    const runs = fakeRuns();
    try {
      runs.enter("this");
      const makes = makesIn(clusterOf("here"));
      noteMade(clusterOf("here"), [namespace("argosy")]);
      for (let other = 0; other < 2_000; other++) {
        runs.enter(`other ${other}`);
        noteMade(clusterOf("here"), []);
      }
      runs.enter("this");
      assert.equal(await makes(SERVER)(namespace("argosy")), true);
    } finally {
      runs.restore();
    }
  });

  it("does not count in another run of a program", async () => {
    await run(() => noteMade(clusterOf("here"), [namespace("argosy")]));
    await run(async () => {
      const makes = makesIn(clusterOf("here"))(SERVER);
      passLate();
      assert.equal(await makes(namespace("argosy")), false);
    });
  });
});
