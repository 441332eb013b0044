import { createHash } from "node:crypto";

/**
 * Ten hexadecimal digits that differ where the files differ, for the name of an immutable ConfigMap. The order in
 * which the files are given does not matter.
 */
export function contentHash(files: Readonly<Record<string, string>>): string {
  const entries = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 10);
}
