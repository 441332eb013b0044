import type { ClusterConnection } from "../runtime/kubernetes/connection";
import { resourcePath } from "../runtime/kubernetes/resource";
import { HttpTransport } from "../runtime/kubernetes/transport";
import { builtIn } from "./builtIn";

/** The answer of the TokenRequest API. */
interface TokenRequest {
  readonly status: { readonly token: string; readonly expirationTimestamp: string };
}

interface Token {
  readonly text: string;
  /** When to ask for the next one, by our clock, in milliseconds since the epoch. */
  readonly renewAt: number;
}

/** What names a service account. */
export interface ServiceAccount {
  readonly namespace: string;
  readonly name: string;
}

/** How long a token shall hold, in seconds; the API server may choose another time. */
const LIFETIME_SECONDS = 3_600;
/** A token is replaced when so much of its time has passed: what the kubelet does too. */
const RENEWED_AFTER = 0.8;

/**
 * The same cluster as somebody else: as a service account, by a token that is asked for when the first request needs
 * one, and anew before it expires.
 *
 * @param admin who may create tokens for the account
 */
export function connectionAs(account: ServiceAccount, admin: ClusterConnection): ClusterConnection {
  const { certificate: _certificate, privateKey: _privateKey, ...cluster } = admin;
  let current: Promise<Token> | undefined;
  return {
    ...cluster,
    token: async () => {
      current ??= requestToken(account, admin);
      try {
        if ((await current).renewAt <= Date.now()) current = requestToken(account, admin);
        return (await current).text;
      } catch (error) {
        current = undefined;
        throw error;
      }
    },
  };
}

async function requestToken(account: ServiceAccount, admin: ClusterConnection): Promise<Token> {
  const transport = new HttpTransport(admin);
  try {
    const { body } = await transport.send<TokenRequest>({
      method: "POST",
      path: resourcePath(builtIn("v1", "ServiceAccount"), account, "token"),
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: LIFETIME_SECONDS },
      },
    });
    const { token, expirationTimestamp } = body.status;
    const lifetimeMs = Date.parse(expirationTimestamp) - Date.now();
    return { text: token, renewAt: Date.now() + lifetimeMs * RENEWED_AFTER };
  } finally {
    transport.close();
  }
}
