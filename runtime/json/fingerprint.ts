import { createHash } from "node:crypto";
import { canonicalJson } from "./json";

/**
 * A short string that differs where two JSON values differ. An object may remember it: it is the same in each process, and in
 * whatever order the keys of a map come. The value may have any depth, since an object that is nested too deeply must not stop
 * the work on all others.
 */
export function fingerprint(value: unknown): string {
  return createHash("sha256")
    .update(canonicalJson(value ?? null))
    .digest("base64url")
    .slice(0, 22);
}

/** A fingerprint of only lower-case letters and digits, for a part of an object's name. */
export function fingerprintForName(value: unknown): string {
  return fingerprint(value)
    .toLowerCase()
    .replace(/[^a-z0-9]/g, "");
}

/** A number from 0 to 1 that follows only from the key (FNV-1a). */
export function spread(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193) >>> 0;
  return hash / 2 ** 32;
}
