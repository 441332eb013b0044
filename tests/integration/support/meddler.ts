import { KubernetesClient } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";

/** What another client does at each write of a status. */
export interface Meddling {
  readonly before?: () => unknown;
  readonly after?: () => unknown;
}

/** A client next to which another client acts, at exact moments. */
export class Meddler extends KubernetesClient {
  constructor(
    connection: ClusterConnection,
    private readonly meddling: Meddling,
  ) {
    super(connection);
  }

  override async apply(...[resource, manifest, options]: Parameters<KubernetesClient["apply"]>) {
    const isStatus = options.subresource === "status";
    if (isStatus) await this.meddling.before?.();
    const applied = await super.apply(resource, manifest, options);
    if (isStatus) await this.meddling.after?.();
    return applied;
  }
}

/** Does it the first time only. */
export function once(action: () => unknown): () => unknown {
  let done = false;
  return () => {
    if (done) return undefined;
    done = true;
    return action();
  };
}
