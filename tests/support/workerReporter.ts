import { inspect } from "node:util";
import type Mocha from "mocha";
import Buffered from "mocha/lib/nodejs/reporters/parallel-buffered.cjs";

/** What of an error mocha does not send from one process to another. */
const FURTHER = ["cause", "errors"] as const;

/**
 * Sends what happened to a file to the process whose reporter reports it. An error's causes become part of its text
 * first: mocha sends only the text.
 */
class WorkerReporter extends Buffered {
  constructor(runner: Mocha.Runner, options?: Mocha.MochaOptions) {
    runner.on("fail", (_, error: Error & { errors?: unknown }) => {
      for (const name of FURTHER) {
        if (error?.[name] !== undefined) error.stack = `${error.stack}\n  [${name}]: ${inspect(error[name])}`;
      }
    });
    super(runner, options);
  }
}

export default WorkerReporter;
