import assert from "node:assert/strict";

/** What is given for each of these, in their order. */
export function assertEach<Item>(
  items: readonly Item[] | undefined,
  given: (item: Item) => unknown,
  expected: readonly unknown[],
): void {
  assert.deepEqual(
    items?.map((item) => given(item)),
    expected,
  );
}

/** None of these is wrong. */
export function assertNone<Item>(items: readonly Item[], isWrong: (item: Item) => unknown): void {
  assert.deepEqual(
    items.filter((item) => isWrong(item)),
    [],
  );
}
