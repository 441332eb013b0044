import { createHash } from "node:crypto";

/** A short string that differs where two JSON values differ, the order of their keys included. */
export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(JSON.stringify(value ?? null))
    .digest("base64url")
    .slice(0, 22);
}
