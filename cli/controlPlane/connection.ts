import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { ClusterConnection } from "../../runtime/cli";
import { clusterDirectory } from "./configuration";

/** How the last line of a certificate or key begins. A file without that line is still being written. */
const PEM_END = "\n-----END ";

/**
 * The connection with cluster-admin rights, with the certificates that kwokctl has created.
 *
 * @param server "https://127.0.0.1:PORT"
 * @throws Error as long as kwokctl has not created them
 */
export async function readConnection(server: string, directory: string) {
  const folder = join(clusterDirectory(directory), "pki");
  const read = async (name: string) => {
    const pem = await readFile(join(folder, name));
    if (!pem.includes(PEM_END)) throw new Error(`${name} is not complete yet`);
    return pem;
  };
  const [certificateAuthority, certificate, privateKey] = await Promise.all([
    read("ca.crt"),
    read("admin.crt"),
    read("admin.key"),
  ]);
  return { server, certificateAuthority, certificate, privateKey } satisfies ClusterConnection;
}
