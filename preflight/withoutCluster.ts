/** The key is the same in every copy of this package, because the command often has another copy than the program. */
const RUNNING = Symbol.for("@argosy-dev/argosy:withoutCluster");
const place = globalThis as { [RUNNING]?: boolean };

/** Runs a program whose components do not look into a cluster, so that its result does not depend on one. */
export async function withoutCluster<Result>(run: () => Promise<Result>): Promise<Result> {
  place[RUNNING] = true;
  try {
    return await run();
  } finally {
    delete place[RUNNING];
  }
}

/** Whether components look into no cluster now. */
export function isWithoutCluster(): boolean {
  return place[RUNNING] === true;
}
