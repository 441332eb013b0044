import type { Api } from "./api";

/** A call of the API: verb, resource with its group ("pods/exec", "jobs.batch"), where, and of which object. */
export interface Call {
  readonly verb: string;
  readonly resource: string;
  /** @default cluster scope, or all namespaces */
  readonly namespace?: string;
  readonly name?: string;
}

/** "get secrets in argosy", "update leases.coordination.k8s.io other in argosy". */
export function parseCall(text: string): Call {
  const [call = "", namespace] = text.split(" in ");
  const [verb = "", resource = "", name] = call.split(" ");
  return { verb, resource, ...(name && { name }), ...(namespace && { namespace }) };
}

/** Whether a service account, as "namespace/name", may do a call: what the API server itself decides. */
export async function mayDo(
  api: Api,
  account: string,
  { verb, resource, namespace, name }: Call,
): Promise<boolean> {
  const [plural = "", ...group] = resource.split(".");
  const [main = "", subresource] = plural.split("/");
  const [at = ""] = account.split("/");
  const { status } = await api.post<{ status: { allowed: boolean } }>(
    "/apis/authorization.k8s.io/v1/subjectaccessreviews",
    {
      apiVersion: "authorization.k8s.io/v1",
      kind: "SubjectAccessReview",
      spec: {
        user: `system:serviceaccount:${account.replace("/", ":")}`,
        groups: ["system:serviceaccounts", `system:serviceaccounts:${at}`, "system:authenticated"],
        resourceAttributes: {
          verb,
          group: group.join("."),
          resource: main,
          ...(subresource && { subresource }),
          ...(namespace && { namespace }),
          ...(name && { name }),
        },
      },
    },
  );
  return status.allowed;
}
