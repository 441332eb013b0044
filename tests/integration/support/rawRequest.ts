import { request } from "node:https";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";

/** Posts a text as it is: for what no client of ours would write. @returns the HTTP code */
export function postText(
  { server, certificateAuthority, certificate, privateKey }: ClusterConnection,
  path: string,
  text: string,
): Promise<number> {
  const identity = { ca: certificateAuthority, cert: certificate, key: privateKey };
  return new Promise((resolve, reject) => {
    const headers = { "content-type": "application/json" };
    const outgoing = request(new URL(path, server), { method: "POST", headers, ...identity }, (response) => {
      response.resume().on("end", () => resolve(response.statusCode ?? 0));
    });
    outgoing.on("error", reject).end(text);
  });
}
