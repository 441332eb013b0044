import path from "node:path";
import { assetPath } from "../components/assets";
import { loadOperators } from "../definition/loadOperators";
import type { Operator } from "../runtime/definition/definition";

/** The Memcached that ships with Argosy, whatever has become of the operators in handlers/. */
export function memcachedOperator(): Operator {
  const examples = path.dirname(assetPath("examples/memcached"));
  const memcached = loadOperators(examples).find(({ folder }) => path.basename(folder) === "memcached");
  if (!memcached) throw new Error(`${examples} has no Memcached`);
  return memcached;
}
