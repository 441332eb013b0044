import type { ClusterConnection } from "./connection";
import { HttpTransport } from "./transport";

/** What names a service account. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** A bearer token of a service account. */
export interface ServiceAccountToken {
  readonly text: string;
  /** When to ask for the next one, by our clock, in milliseconds since the epoch. */
  readonly renewAt: number;
}

/** The answer of the TokenRequest API. */
interface TokenRequest {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

/** How long a token shall hold, in seconds; the API server may choose another time. */
const LIFETIME_SECONDS = 3_600;
/** A token is replaced when so much of its time has passed: what the kubelet does too. */
const RENEWED_AFTER = 0.8;

/**
 * Asks the API server for a token of a service account.
 * @param connection who may create tokens for the account
 * @throws ApiError, ApiUnreachableError
 */
export async function requestToken(
  { namespace, name }: ServiceAccount,
  connection: ClusterConnection,
): Promise<ServiceAccountToken> {
  const transport = new HttpTransport(connection);
  try {
    const { body } = await transport.send<TokenRequest>({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`,
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: LIFETIME_SECONDS },
      },
    });
    const { token, expirationTimestamp } = body.status;
    // If our clock is behind the API server's, the token seems to hold for longer than it does.
    const lifetimeMs = Math.min(Date.parse(expirationTimestamp) - Date.now(), LIFETIME_SECONDS * 1000);
    return { text: token, renewAt: Date.now() + lifetimeMs * RENEWED_AFTER };
  } finally {
    transport.close();
  }
}
