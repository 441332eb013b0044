import { resourceOf } from "../../argo/runTarget";
import { ChildStore } from "../../children/childStore";
import { childSelectorOf } from "../../children/marks";
import type { Operator } from "../../definition/definition";
import type { KubernetesClient } from "../../kubernetes/client";
import { findResource } from "../../kubernetes/discovery";
import type { KubernetesObject } from "../../kubernetes/objects";
import { memoryResourceOf, uidIn } from "../../memory/memoryKind";
import { allIdentitiesOf, identityOf, OPERATOR_LABEL } from "../../names";
import { Patience } from "../withoutWatches/patience";
import { listByNamespace } from "./listByNamespace";

/** Of which operator everything is listed, and where. */
export interface ListOfAllOptions {
  readonly operator: Operator;
  readonly client: KubernetesClient;
  /** The namespace of the operator's runs: the platform's. */
  readonly namespace: string;
  /**
   * Called for each kind of children that could not be listed, or not in one namespace. Objects that have such children get a
   * run.
   */
  readonly onError: (what: string, error: Error) => void;
  /** How long an API server is waited for that is away or busy. @default half a minute */
  readonly patience?: Patience | undefined;
}

/** The children of all objects, by the lists that a resident runner begins with. */
export async function listChildrenOfAll({
  operator,
  client,
  onError,
  patience = new Patience(),
}: Omit<ListOfAllOptions, "namespace">): Promise<ChildStore> {
  // The facts suffice, so no content is kept.
  const children = new ChildStore({
    client,
    operator,
    ownerKind: resourceOf(operator.customResource),
    mostKept: 0,
  });
  const labelSelector = childSelectorOf(operator);
  for (const { apiVersion, kind, update } of operator.children) {
    // Anybody may change a child that is created once, so nothing of its content is compared.
    const metadataOnly = update === "never";
    const list = async () => {
      const resource = await findResource(client, apiVersion, kind);
      await listByNamespace(
        client,
        resource,
        { labelSelector, metadataOnly, namespaces: operator.namespaces },
        (items) => children.learn(resource, items),
        (namespace, error) => onError(`children of kind ${kind} in namespace ${namespace}`, error),
      );
    };
    await patience.retried(list).catch((error: Error) => onError(`children of kind ${kind}`, error));
  }
  return children;
}

/** The Memory objects of the operator, by the uid of the object that each is about. */
export async function listMemories({
  operator,
  client,
  namespace,
}: Omit<ListOfAllOptions, "onError">): Promise<Map<string, KubernetesObject>> {
  const memories = new Map<string, KubernetesObject>();
  // A Memory under a former name counts only if there is no other.
  for (const identity of allIdentitiesOf(operator).toReversed()) {
    const labelSelector = `${OPERATOR_LABEL}=${identityOf(identity)}`;
    await client.list(memoryResourceOf(operator), { namespace, labelSelector }, (items) => {
      for (const memory of items) {
        const uid = uidIn(memory, identity);
        if (uid !== undefined) memories.set(uid, memory);
      }
    });
  }
  return memories;
}
