import { ApiError, type ClusterConnection, isApiError } from "../../runtime/cli";

/**
 * The error, with what to do if the cluster does not recognize the user of the kubeconfig: the API server says only
 * "Unauthorized".
 */
export function withLoginRemedy(error: unknown, { server }: Pick<ClusterConnection, "server">): unknown {
  if (!isApiError(error, 401)) return error;
  const message =
    `the cluster at ${server} does not recognize the user of the kubeconfig: ${error.message}. Log in to the cluster again, or ` +
    "name another context with --context or --kubeconfig.";
  return new ApiError(401, { ...error.status, message }, error.request);
}
