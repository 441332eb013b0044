/** Drops the entries of a map or a set that were added first, until no more than `most` are left. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, most: number): void {
  for (const oldest of entries.keys()) {
    if (entries.size <= most) return;
    entries.delete(oldest);
  }
}
