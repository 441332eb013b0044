import { ChildStore, type ChildStoreOptions } from "../../../runtime/children/childStore";
import { ChildWriter, type ChildWriterOptions } from "../../../runtime/children/childWriter";
import type { FakeCluster } from "./fakeCluster";
import { MANAGER, WIDGETS } from "./objects";

/** The children of widgets in a cluster, and who writes them. */
export function childrenIn(
  cluster: FakeCluster,
  {
    formerManagers = [],
    isNamespaced = false,
    now = () => performance.now(),
    onChange = () => {},
  }: Partial<
    Pick<ChildWriterOptions, "formerManagers" | "isNamespaced" | "now"> & Pick<ChildStoreOptions, "onChange">
  > = {},
): { readonly store: ChildStore; readonly writer: ChildWriter } {
  const shared = { ownerKind: WIDGETS, fieldManager: MANAGER, formerManagers };
  const store = new ChildStore({ ...shared, client: cluster.client(), onChange });
  return { store, writer: new ChildWriter({ ...shared, store, isNamespaced, now }) };
}
