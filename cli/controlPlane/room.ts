import { statfs } from "node:fs/promises";
import { tmpdir } from "node:os";

const MEBIBYTE = 2 ** 20;
/** Less is too little: etcd reserves 64 MiB when it starts. */
const NEEDED_MEBIBYTES = 100;

/**
 * What to do if the folder for temporary files has too little room for a control plane, as a sentence. Its programs do not all say
 * that clearly. Undefined if there is enough.
 *
 * @param folder @default that of the machine
 */
export async function lackOfRoom(
  folder = tmpdir(),
  stats: (folder: string) => Promise<{ bavail: number; bsize: number }> = statfs,
): Promise<string | undefined> {
  const { bavail, bsize } = await stats(folder);
  const left = Math.floor((bavail * bsize) / MEBIBYTE);
  if (left >= NEEDED_MEBIBYTES) return undefined;
  return `${folder} has room for only ${left} MiB: make room there, or set TMPDIR to a folder with more room.`;
}
