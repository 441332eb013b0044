import { join } from "node:path";
import { InvalidArgumentError } from "commander";
import { loadOperators } from "../components/loadOperators";
import type { Operator } from "../runtime/definition/definition";
import { CommandError } from "./commandError";
import { PROJECT_FOLDER } from "./tools";

/** The operator whose custom resource is the work. */
export function memcachedOperator(): Operator {
  const memcached = loadOperators(join(PROJECT_FOLDER, "handlers")).find(({ name }) => name === "memcached");
  if (!memcached) throw new CommandError("handlers/memcached is missing: the work is its custom resource.");
  return memcached;
}

/** Tells on standard error how far it is. */
export function progress(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** An option's value. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a whole number above 0.");
  return Number(text);
}
