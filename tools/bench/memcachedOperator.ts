import { join } from "node:path";
import { CommandError } from "../../cli/commandError";
import { PROJECT_FOLDER } from "../../cli/projectFolder";
import { loadOperators } from "../../components/loadOperators";
import type { Operator } from "../../runtime/definition/definition";

/** The operator whose custom resource is the work. */
export function memcachedOperator(): Operator {
  const memcached = loadOperators(join(PROJECT_FOLDER, "handlers")).find(({ name }) => name === "memcached");
  if (!memcached) throw new CommandError("handlers/memcached is missing: the work is its custom resource.");
  return memcached;
}
