import {
  type ClusterConnection,
  requestToken,
  type ServiceAccount,
  type ServiceAccountToken,
} from "../../runtime/cli";
import { withLoginRemedy } from "../cluster/loginRemedy";

/**
 * A connection to the same cluster as a service account. The token is requested for the first request, and again before it
 * expires.
 *
 * @param admin a connection that may create tokens for the account
 */
export function connectionAs(account: ServiceAccount, admin: ClusterConnection): ClusterConnection {
  const {
    certificate: _certificate,
    privateKey: _privateKey,
    impersonation: _impersonation,
    ...cluster
  } = admin;
  let current: Promise<ServiceAccountToken> | undefined;
  return {
    ...cluster,
    token: async () => {
      current ??= requestToken(account, admin);
      try {
        if ((await current).renewAt <= Date.now()) current = requestToken(account, admin);
        return (await current).text;
      } catch (error) {
        current = undefined;
        throw withLoginRemedy(error, admin);
      }
    },
  };
}
