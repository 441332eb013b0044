/** How many test files may run at the same time. */
export interface PoolLimits {
  readonly all: number;
  readonly limited: number;
  /** Whether the lower limit applies to a file. */
  isLimited(file: string): boolean;
}

/**
 * Runs files in their order. Mocha has one limit for all files. Here a file whose own limit is reached lets the next ones pass.
 *
 * @param start runs a file
 * @param running the files that run, for others to read
 */
export function filePool(
  { all, limited, isLimited }: PoolLimits,
  start: (file: string) => Promise<void>,
  running: Set<string>,
): (file: string) => Promise<void> {
  const waiting = new Map<string, () => void>();
  const hasRoomFor = (file: string) =>
    running.size < all && (!isLimited(file) || [...running].filter(isLimited).length < limited);
  const startNext = () => {
    for (const [file, begin] of waiting) {
      if (!hasRoomFor(file)) continue;
      waiting.delete(file);
      running.add(file);
      begin();
    }
  };
  return async (file) => {
    await new Promise<void>((begin) => {
      waiting.set(file, begin);
      startNext();
    });
    try {
      await start(file);
    } finally {
      running.delete(file);
      startNext();
    }
  };
}
