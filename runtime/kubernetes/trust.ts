import { createSecureContext, type SecureContext } from "node:tls";
import type { ClusterConnection } from "./connection";

/** Whose certificates we trust, and how a connection is made with that. */
export interface Trust {
  readonly authority: ClusterConnection["certificateAuthority"];
  readonly secureContext: SecureContext;
}

/**
 * Reads the certificates of a connection.
 * @throws Error if they cannot be read
 */
export function trustOf({
  server,
  certificateAuthority: ca,
  certificate,
  privateKey,
}: ClusterConnection): Trust {
  const identity = { ...(certificate && { cert: certificate }), ...(privateKey && { key: privateKey }) };
  try {
    return { authority: ca, secureContext: createSecureContext({ ...(ca && { ca }), ...identity }) };
  } catch (error) {
    const why = (error as Error).message;
    throw new Error(`the certificates or the key for ${server} cannot be read: ${why}`, { cause: error });
  }
}
