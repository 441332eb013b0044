import Mocha from "mocha";

/**
 * Mocha's own specification reporter, and as the very last line of a run its result in plain words:
 * "12 passed, 0 failed, 1 skipped". Where a process started the run, that one is told that there was a result.
 */
class Reporter extends Mocha.reporters.Spec {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    super(runner, options);
    // Registered after the epilogue of the Spec reporter, so that this comes last.
    runner.once("end", () => {
      const { passes, failures, pending } = this.stats;
      process.stdout.write(`${passes} passed, ${failures} failed, ${pending} skipped\n`);
      process.send?.("finished");
      // Nothing is left running when this fires. Without it Node 20 now and then never comes to the end of its own
      // clean-up, with one core busy: seen after the tests that break many connections.
      process.once("beforeExit", () => process.exit());
    });
  }
}

export default Reporter;
