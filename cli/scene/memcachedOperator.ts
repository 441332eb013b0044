import { assetPath } from "../../components/assets";
import { loadOperator } from "../../definition/loadOperator";
import type { Operator } from "../../runtime/cli";

/** The Memcached operator that ships with Argosy, independent of the operators in handlers/. */
export function memcachedOperator(): Operator {
  return loadOperator(assetPath("examples/memcached"));
}
