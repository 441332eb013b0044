import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import fc from "fast-check";
import { InterruptedError } from "../../cli/common/interruption";
import { parseLedger, withoutKeys } from "../../tools/chaos/effects";
import { generatePlan, type PlanOptions } from "../../tools/chaos/generatePlan";
import { Administrator } from "../../tools/chaos/inCluster/administrator";
import { partsOf } from "../../tools/chaos/inCluster/parts";
import { type ControlPlaneProgram, controlPlaneProcess } from "../../tools/chaos/inCluster/processes";
import type { Outcome } from "../../tools/chaos/perform";
import { formatJson, formatText } from "../../tools/chaos/report";
import { eventually } from "../support/eventually";
import { assertEach } from "./support/lists";
import { json, TestApiServer } from "./support/testApiServer";

describe("the parts that chaos goes wrong with", () => {
  let server: TestApiServer;
  let administrator: Administrator;
  /** What the API server tells, each time it is asked; the last is told ever after. */
  let holders: string[];
  let runners: string[][];

  const next = <Item>(list: Item[]) => (list.length > 1 ? list.shift() : list[0]);
  const pod = (name: string) => ({ metadata: { name, namespace: "argosy", uid: name } });

  beforeEach(async () => {
    holders = ["a_1"];
    runners = [["a", "b"]];
    server = await TestApiServer.start(({ path }, response) => {
      if (path.includes("/leases/"))
        return json(response, { metadata: { name: "lease" }, spec: { holderIdentity: next(holders) } });
      return json(response, { metadata: { resourceVersion: "1" }, items: (next(runners) ?? []).map(pod) });
    });
    administrator = new Administrator(server.connection());
  });
  afterEach(async () => {
    administrator.close();
    await server.stop();
  });

  const namesOf = async (part: "leader" | "standby" | "runners") => {
    const pods = await partsOf(administrator, "resident")[part]();
    return pods.map(({ metadata }) => metadata.name);
  };

  it("are told apart by who holds the lease", async () => {
    assert.deepEqual(await namesOf("leader"), ["a"]);
    assert.deepEqual(await namesOf("standby"), ["b"]);
    assert.deepEqual(await namesOf("runners"), ["a", "b"]);
  });

  it("are waited for while the lease still names a runner that is gone", async () => {
    holders = ["gone_1", "", "b_2"];
    assert.deepEqual(await namesOf("leader"), ["b"]);
    holders = ["gone_1", "b_2"];
    assert.deepEqual(await namesOf("standby"), ["a"]);
  });
});

const FAULTS = ["a", "b", "c", "d"];
const options = fc.record<PlanOptions>({
  seed: fc.nat(),
  changes: fc.integer({ min: 1, max: 400 }),
  objects: fc.integer({ min: 1, max: 40 }),
  calmRounds: fc.integer({ min: 0, max: 2 }),
  changesPerRound: fc.integer({ min: 1, max: 60 }),
  faults: fc.constant(FAULTS),
  faultSeconds: fc.constant([2, 6] as const),
  mostDelayMs: fc.nat(200),
});

describe("the plan of a chaos run", () => {
  it("is the same for the same seed, and another for another", () => {
    fc.assert(fc.property(options, (each) => assert.deepEqual(generatePlan(each), generatePlan(each))));
    const of = (seed: number) =>
      generatePlan({
        seed,
        changes: 50,
        objects: 5,
        calmRounds: 1,
        changesPerRound: 10,
        faults: FAULTS,
        faultSeconds: [1, 2],
        mostDelayMs: 5,
      });
    assert.notDeepEqual(of(1).rounds, of(2).rounds);
  });

  it("has as many changes as it was asked for, and no two with the same number", () => {
    fc.assert(
      fc.property(options, (each) => {
        const changes = generatePlan(each).rounds.flatMap((round) => round.changes);
        assert.equal(changes.length, each.changes);
        const values = changes.flatMap((change) => ("wish" in change ? [change.wish.value] : []));
        assert.equal(new Set(values).size, values.length);
      }),
    );
  });

  it("creates only missing objects, and changes only existing ones", () => {
    fc.assert(
      fc.property(options, (each) => {
        const alive = new Set<string>();
        for (const { verb, object } of generatePlan(each).rounds.flatMap(({ changes }) => changes)) {
          if (verb === "create") assert.ok(!alive.has(object), object);
          else if (verb !== "apply") assert.ok(alive.has(object), `${verb} ${object}`);
          if (verb === "delete" || verb === "orphan") alive.delete(object);
          else alive.add(object);
        }
      }),
    );
  });

  it("has no fault in its calm rounds, then every kind before any comes again", () => {
    fc.assert(
      fc.property(options, (each) => {
        const { rounds } = generatePlan(each);
        const others = rounds.slice(each.calmRounds);
        for (const { faults } of rounds.slice(0, each.calmRounds)) assert.deepEqual(faults, []);
        for (const { faults } of others) assert.ok(faults.length > 0);
        const times = new Map(FAULTS.map((kind) => [kind, 0]));
        for (const { changes, faults } of others) {
          assert.equal(new Set(faults.map(({ kind }) => kind)).size, faults.length);
          for (const { kind, seconds, afterChanges } of faults) {
            assert.ok(afterChanges < changes.length && seconds >= 2 && seconds <= 6);
            times.set(kind, (times.get(kind) ?? 0) + 1);
          }
        }
        // Two in one round must differ, which may put one of them off.
        assert.ok(Math.max(...times.values()) - Math.min(...times.values()) <= 2);
      }),
    );
  });
});

const entry = (key: string, value: number) => JSON.stringify({ key, value });

describe("what a chaos run's handler did outside", () => {
  it("is counted by its id, with the changes that it was done for", () => {
    const effects = parseLedger([entry("u/1", 3), entry("u/1", 3), entry("u/2", 4), '{"key":"u/'].join("\n"));
    assertEach([...effects], ([id, { acts, values }]) => [id, acts, [...values]], [
      ["u/1", 2, [3]],
      ["u/2", 1, [4]],
    ]);
  });

  it("is told from what another form did before, which shares the ledger", () => {
    const before = parseLedger(entry("a/1", 1));
    const effects = parseLedger([entry("a/1", 1), entry("a/1", 1), entry("b/1", 1)].join("\n"));
    assert.deepEqual([...withoutKeys(effects, before).keys()], ["b/1"]);
  });
});

const OUTCOME: Outcome = {
  seed: 7,
  rounds: 5,
  changes: 30,
  lost: [],
  convergence: [
    { kinds: ["sensor: killed", "handler: hang"], seconds: 4 },
    { kinds: ["sensor: killed"], seconds: 2 },
    { kinds: [], seconds: 1 },
  ],
  leftOut: [{ kind: "etcd: killed", why: "it needs --node-faults" }],
  effects: { keys: 20, repeated: 3 },
  seconds: 99.6,
};
const COMMAND = "npm run chaos -- --seed 7";

describe("the report of a chaos run", () => {
  it("tells people what was lost, done again and left out", () => {
    const text = formatText("pod", OUTCOME, COMMAND);
    assert.match(text, /^pod: 30 changes, 0 objects lost, in 100 s \(seed 7\)$/m);
    assert.match(text, /^effects outside for 20 generations; repeated for the same generation: 3$/m);
    assert.match(text, /^sensor: killed +2 +2\.0 +4\.0$/m);
    assert.match(text, /^left out: etcd: killed: it needs --node-faults$/m);
    assert.doesNotMatch(text, /broken off|repeat it/);
  });

  it("tells the history of what is lost, and what repeats the run", () => {
    const lost = [{ object: "o-1", what: ["it does not exist"], history: [{ at: 1, what: "delete o-1" }] }];
    const text = formatText("pod", { ...OUTCOME, lost }, COMMAND);
    assert.match(
      text,
      /^lost: o-1\n {2}it does not exist\n +1\.0 s {2}delete o-1\nrepeat it: npm run chaos/m,
    );
    const [run] = JSON.parse(formatJson({ pod: { ...OUTCOME, lost } }, COMMAND)).runs;
    assert.deepEqual([run.lost, run.losses[0].object], [1, "o-1"]);
  });

  it("tells where and why a run was broken off, with the figures of the rounds before", () => {
    for (const [brokenOff, why] of [
      [new InterruptedError("SIGINT"), "interrupted"],
      [new Error("o-1: tried for 330 s"), "o-1: tried for 330 s"],
    ] as const) {
      const outcome = { ...OUTCOME, brokenOff };
      const text = formatText("pod", outcome, COMMAND);
      assert.ok(text.includes(`aborted after 3 of 5 rounds: ${why}\n`), text);
      assert.match(text, /^sensor: killed +2 +2\.0 +4\.0$/m);
      const { runs, command } = JSON.parse(formatJson({ pod: outcome }, COMMAND));
      const { execution, rounds, finishedRounds, convergence } = runs[0];
      assert.deepEqual(
        { execution, rounds, finishedRounds, kinds: convergence.length, why: runs[0].brokenOff, command },
        { execution: "pod", rounds: 5, finishedRounds: 3, kinds: 3, why, command: COMMAND },
      );
    }
  });
});

describe("a process of a control plane", () => {
  it("is told from that of another cluster on the same machine, whichever began first", async () => {
    const option = "--secure-port";
    const program: ControlPlaneProgram = { name: `argosy-victim-${process.pid}`, option, value: "6443" };
    const start = (...args: string[]) =>
      spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)", "--", ...args], {
        argv0: program.name,
        stdio: "ignore",
      });
    const [ours, theirs] = [start("an argument", `${option}=6443`), start("theirs", option, "7443,7444")];
    try {
      await eventually(() => assert.equal(controlPlaneProcess(program).id, ours.pid));
      await eventually(() => assert.equal(controlPlaneProcess({ ...program, value: "7444" }).id, theirs.pid));
      assert.throws(() => controlPlaneProcess({ ...program, value: "744" }), /with --secure-port=744 is in/);
    } finally {
      ours.kill("SIGKILL");
      theirs.kill("SIGKILL");
    }
  });
});
