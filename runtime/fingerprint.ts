import { createHash } from "node:crypto";
import { canonicalJson } from "./json";

/**
 * A short string that differs where two JSON values differ. It is the same in each process, and in whatever order the keys of
 * a map come: so it may be remembered in an object. It takes a value of any depth: an object that is nested too deeply must not
 * stop the work on all others.
 */
export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(canonicalJson(value ?? null))
    .digest("base64url")
    .slice(0, 22);
}
