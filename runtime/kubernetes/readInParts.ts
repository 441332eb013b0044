/** How many objects are read at once. Each may be as long as etcd allows. */
const READ_AT_ONCE = 8;

/** Reads objects, few of them at once. Yields each one that exists, with the item for which it was read. */
export async function* readInParts<Item, Read>(
  items: readonly Item[],
  readOne: (item: Item) => Promise<Read | undefined>,
): AsyncGenerator<readonly [item: Item, read: Read]> {
  for (let from = 0; from < items.length; from += READ_AT_ONCE) {
    const part = items.slice(from, from + READ_AT_ONCE);
    const found = await Promise.all(part.map(async (item) => [item, await readOne(item)] as const));
    for (const [item, read] of found) if (read !== undefined) yield [item, read];
  }
}
