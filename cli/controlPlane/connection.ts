import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import { clusterDirectory } from "./configuration";

/**
 * The connection with cluster-admin rights, by the certificates that kwokctl has made.
 *
 * @param server "https://127.0.0.1:PORT"
 * @throws as long as kwokctl has not made them
 */
export async function readConnection(server: string, directory: string) {
  const folder = join(clusterDirectory(directory), "pki");
  const read = (name: string) => readFile(join(folder, name));
  const [certificateAuthority, certificate, privateKey] = await Promise.all([
    read("ca.crt"),
    read("admin.crt"),
    read("admin.key"),
  ]);
  return { server, certificateAuthority, certificate, privateKey } satisfies ClusterConnection;
}
