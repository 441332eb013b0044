import { connectionAs } from "../../../cli/local/serviceAccountToken";
import type { Manifest } from "../../../runtime/base/objects";
import { Api } from "../../integration/support/api";
import { session } from "./hooks";

/** A user with every right in the cluster, but outside the group of its administrators. */
export interface PrivilegedUser {
  readonly api: Api;
  /** Takes the account and its rights away. */
  readonly leave: () => Promise<void>;
}

/** Makes the account of such a user. */
export async function privilegedUser(namespace: string, name: string): Promise<PrivilegedUser> {
  const { api, connection } = session();
  const account: Manifest = { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } };
  const rights: Manifest = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: `everything.${namespace}.${name}` },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" },
    subjects: [{ kind: "ServiceAccount", name, namespace }],
  };
  await api.create(account);
  await api.create(rights);
  const theirs = new Api(connectionAs({ name, namespace }, connection));
  const leave = async (): Promise<void> => {
    theirs.close();
    await api.delete(rights);
    await api.delete(account);
  };
  return { api: theirs, leave };
}
