import type { Api } from "./api";
import { sharedCluster } from "./cluster";

/** A namespace of one suite. */
export interface NamespaceBench {
  readonly api: Api;
  readonly namespace: string;
}

/** Gives a suite a namespace of the shared control plane. Its tests may use the result. */
export function useNamespace(hint: string): NamespaceBench {
  const bench = {} as { -readonly [Part in keyof NamespaceBench]: NamespaceBench[Part] };
  before(async function () {
    this.timeout(0);
    ({ api: bench.api } = await sharedCluster());
    bench.namespace = await bench.api.newNamespace(hint);
  });
  return bench;
}
