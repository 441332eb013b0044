import { ChildStore, type ChildStoreOptions } from "../../../runtime/observe/childStore";
import { ChildWriter } from "../../../runtime/write/childWriter";
import type { FakeCluster } from "./fakeCluster";
import { IDENTITY, WIDGETS } from "./objects";

/** The children of widgets in a cluster, and who writes them. */
export function childrenIn(
  cluster: FakeCluster,
  {
    formerNames = [],
    isNamespaced = false,
    now = () => performance.now(),
    emit,
    mostKept,
    children = [],
  }: Partial<Pick<ChildStoreOptions["operator"], "formerNames" | "children">> &
    Pick<ChildStoreOptions, "emit" | "mostKept"> & { isNamespaced?: boolean; now?: () => number } = {},
): { readonly store: ChildStore; readonly writer: ChildWriter } {
  const shared = { ownerKind: WIDGETS, operator: { ...IDENTITY, formerNames, children } };
  const store = new ChildStore({ ...shared, client: cluster.client(), emit, mostKept });
  return { store, writer: new ChildWriter(store, isNamespaced, now) };
}

/** Forgets every child except those with these uids: lists apart from the watches did not have the others. */
export function retain(store: ChildStore, uids: readonly string[]): void {
  for (const owner of store.owners())
    for (const child of store.of(owner.uid)) if (!uids.includes(child.uid)) store.forget(child);
}
