import { assetPath } from "../components/assets";
import { loadOperator } from "../definition/loadOperator";
import type { Operator } from "../runtime/definition/definition";

/** The Memcached that ships with Argosy, whatever operators are in handlers/. */
export function memcachedOperator(): Operator {
  return loadOperator(assetPath("examples/memcached"));
}
