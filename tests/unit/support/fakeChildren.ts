import { ChildStore, type ChildStoreOptions } from "../../../runtime/children/childStore";
import { ChildWriter, type ChildWriterOptions } from "../../../runtime/children/childWriter";
import type { OperatorNames } from "../../../runtime/names";
import type { FakeCluster } from "./fakeCluster";
import { IDENTITY, WIDGETS } from "./objects";

/** The children of widgets in a cluster, and who writes them. */
export function childrenIn(
  cluster: FakeCluster,
  {
    formerNames = [],
    isNamespaced = false,
    now = () => performance.now(),
    onChange = () => {},
    mostKept,
  }: Partial<Pick<OperatorNames, "formerNames">> &
    Pick<ChildWriterOptions, "isNamespaced" | "now"> &
    Pick<ChildStoreOptions, "onChange" | "mostKept"> = {},
): { readonly store: ChildStore; readonly writer: ChildWriter } {
  const shared = { ownerKind: WIDGETS, operator: { ...IDENTITY, formerNames } };
  const store = new ChildStore({ ...shared, client: cluster.client(), onChange, mostKept });
  return { store, writer: new ChildWriter({ ...shared, store, isNamespaced, now }) };
}
