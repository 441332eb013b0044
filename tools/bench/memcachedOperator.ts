import { join } from "node:path";
import { CommandError } from "../../cli/commandError";
import { PACKAGE_FOLDER } from "../../cli/project";
import { loadOperators } from "../../components/loadOperators";
import type { Operator } from "../../runtime/definition/definition";

/** The operator whose custom resource is the work. */
export function memcachedOperator(): Operator {
  const memcached = loadOperators(join(PACKAGE_FOLDER, "handlers")).find(({ name }) => name === "memcached");
  if (!memcached) throw new CommandError("handlers/memcached is missing: the work is its custom resource.");
  return memcached;
}
