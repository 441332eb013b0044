import type { ClusterConnection } from "./connection";
import { HttpTransport } from "./transport";

/** The name of a service account. */
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

/**
 * The answer of the TokenRequest API. Its `spec` says how long the token holds (kubernetes,
 * pkg/registry/core/serviceaccount/storage/token.go).
 */
interface TokenRequest {
  readonly spec: { readonly expirationSeconds: number };
  readonly status: { readonly token: string };
}

/** How long a token should hold, in seconds. The API server may choose another time. */
const LIFETIME_SECONDS = 3_600;
/** A token is replaced after this part of its time, as the kubelet does too. */
const RENEWED_AFTER = 0.8;

/**
 * Asks the API server for a token of a service account.
 * @param connection credentials that may create tokens for the account
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
    const { spec, status } = body;
    // Not the instant of its end: that is by the API server's clock, and ours may show another time.
    const lifetimeMs = spec.expirationSeconds * 1000;
    return { text: status.token, renewAt: Date.now() + lifetimeMs * RENEWED_AFTER };
  } finally {
    transport.close();
  }
}
