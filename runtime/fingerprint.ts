import { createHash } from "node:crypto";
import { jsonText } from "./json";

/**
 * A short string that differs where two JSON values differ, the order of their keys included. It takes a value of any depth: the API
 * server keeps objects of 10,000 levels, and one of them must not stop the work on all others.
 */
export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(jsonText(value ?? null))
    .digest("base64url")
    .slice(0, 22);
}
