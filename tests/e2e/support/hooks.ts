import { findCluster } from "../../../tools/findCluster";
import { kubectl } from "./kubectl";
import { NAMESPACE, Session } from "./session";

let current: Session | undefined;

/** This run's session. Only in tests and hooks: it is opened before the first of them. */
export function session(): Session {
  if (!current) throw new Error("no session is open");
  return current;
}

/**
 * Called by mocha (`require` in .mocharc.e2e.json) before the first test and after the last one. Without a cluster or
 * Pulumi every test is skipped on a developer's machine, and fails in CI, which must have both.
 */
export const mochaHooks = {
  async beforeAll(this: Mocha.Context): Promise<void> {
    // npm packs the program and installs the package: minutes where others use the machine. It is only a limit for what
    // hangs.
    this.timeout(1_800_000);
    const found = await findCluster();
    if ("missing" in found) {
      if (process.env["CI"]) throw new Error(`e2e cannot run: ${found.missing}`);
      process.stderr.write(`e2e skipped: ${found.missing}\n`);
      return this.skip();
    }
    process.stderr.write(`e2e on ${found.connection.server}\n`);
    current = await Session.open(found.connection);
  },
  /** What went wrong, which mocha says only at the end, and what there was then: soon it is gone. */
  async afterEach(this: Mocha.Context): Promise<void> {
    if (this.currentTest?.state !== "failed" || !current) return;
    process.stderr.write(`${this.currentTest.err?.stack}\n`);
    await showState();
  },
  async afterAll(this: Mocha.Context): Promise<void> {
    this.timeout(900_000);
    await current?.close();
  },
};

async function showState(): Promise<void> {
  const kinds = "pods,workflows.argoproj.io";
  const table = await kubectl("get", kinds, "--namespace", NAMESPACE, "--output", "wide").catch(String);
  process.stderr.write(`${table}\n`);
}
