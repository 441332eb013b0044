import { fingerprintForName } from "../json/fingerprint";
import { isRecord } from "../json/json";
import { ApiError, isUndecided } from "../kubernetes/errors";
import type { Manifest } from "../kubernetes/objects";

/**
 * The manifest that is created by a dry run before a child is deleted and created again: the child under a free name. A Service
 * is rehearsed without the addresses and ports that the old Service holds, which are free as soon as it is gone.
 */
export function dryRunReplacementOf(manifest: Manifest): Manifest {
  const { apiVersion, kind, metadata, spec } = manifest;
  const isService = apiVersion === "v1" && kind === "Service" && isRecord(spec);
  return {
    ...manifest,
    metadata: { ...metadata, name: rehearsalName(metadata.name) },
    ...(isService && { spec: withoutAllocated(spec) }),
  };
}

/** The name of the rehearsal of a child: as valid as the child's own, and free. */
export function rehearsalName(name: string): string {
  return `${name.slice(0, 40).replace(/[^a-z0-9]+$/, "")}-${fingerprintForName(name).slice(0, 8)}`;
}

/**
 * The refusal of a child that cannot be changed, if the new one would be refused too, or if nobody knows that.
 * @param refused the refusal of the change
 * @param error what the rehearsal failed with. If nobody has decided about that, this is no refusal
 */
export function replacementRefused(refused: ApiError, error: unknown): unknown {
  if (!(error instanceof ApiError) || isUndecided(error)) return error;
  const isOfName = error.causes.some(({ field }) => field === "metadata.name");
  // The name of a CustomResourceDefinition follows from its content, so the rehearsal's name cannot be right.
  const why = isOfName
    ? "a dry run under another name cannot show whether the API server would accept the new one. Delete it yourself if nothing is lost with it: it is created again"
    : `the API server would refuse the new one: ${error.message}`;
  // The API server quotes all of a Job's template. Nobody reads what follows such a quotation.
  const message = `it must be deleted and created again, but it is not deleted, since ${why}. The change was refused: ${refused.message}`;
  return new ApiError(refused.code, { ...refused.status, message }, refused.request);
}

function withoutAllocated(spec: Record<string, unknown>): Record<string, unknown> {
  const { clusterIP, clusterIPs: _, healthCheckNodePort: __, ports, ...others } = spec;
  const freed = (port: unknown) => {
    if (!isRecord(port)) return port;
    const { nodePort: _, ...rest } = port;
    return rest;
  };
  return {
    ...others,
    ...(clusterIP === "None" && { clusterIP }),
    ...(ports !== undefined && { ports: Array.isArray(ports) ? ports.map(freed) : ports }),
  };
}
