import assert from "node:assert/strict";
import { type CorpusEntry, readCorpus } from "../unit/crdVerdict/corpus";
import { type OwnCluster, startTestCluster } from "./support/cluster";
import { CrdTrial, type Damage } from "./support/crdTrial";

/** How many edits are tried at a time: most of one is waiting for the API server to take a CRD in. */
const LANES = 20;

/**
 * One edit for each verdict on each kind of change, and those after which a client writes. The whole corpus, some minutes, with
 * WHOLE_CORPUS=1.
 */
function sample(): CorpusEntry[] {
  const told = new Set<string>();
  return readCorpus().filter(({ unseen, verdicts, sent }) => {
    if (unseen !== undefined) return false;
    const kinds =
      verdicts.length === 0 ? ["none"] : verdicts.map((verdict) => verdict.split(" ", 2).join(" "));
    const isNew = kinds.some((kind) => !told.has(kind));
    for (const kind of kinds) told.add(kind);
    return isNew || sent !== undefined || process.env.WHOLE_CORPUS === "1";
  });
}

const entries = sample();

/** A control plane of its own: with each CRD that comes and goes, its garbage collector starts again. */
describe("a real API server agrees with the verdict on a change of a CRD", function () {
  this.timeout(300_000);
  let cluster: OwnCluster;
  const trials = new Map<CorpusEntry, Promise<Damage>>();
  before(async function () {
    this.timeout(0);
    cluster = await startTestCluster();
    const lanes: Promise<unknown>[] = Array.from({ length: LANES }, () => Promise.resolve());
    for (const [index, entry] of entries.entries()) {
      const group = `edit-${index}.example.com`;
      const start = () => new CrdTrial(cluster.connection, group, entry).run();
      const trial = (lanes[index % LANES] ?? Promise.resolve()).then(start);
      trials.set(entry, trial);
      // A failure is told by the test that awaits it.
      lanes[index % LANES] = trial.catch(() => undefined);
    }
  });
  after(() => cluster?.close());

  for (const entry of entries) {
    const breaks = entry.verdicts.some((verdict) => verdict.startsWith("breaking"));
    it(`${breaks ? "something breaks" : "nothing breaks"} when ${entry.edit}`, async () => {
      const damage = await trials.get(entry);
      assert.ok(damage);
      if (!breaks) return assert.deepEqual(damage, {});
      assert.notDeepEqual(damage, {});
      assert.equal("the new CRD" in damage, entry.refused ?? false);
    });
  }
});
