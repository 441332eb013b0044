import { isDeepStrictEqual } from "node:util";
import type { JsonObject } from "../../runtime/program";
import { type CrdChange, safe } from "./change";
import { versionPlace } from "./version";

/** The columns of `kubectl get`: made for people's eyes, so that no change of them breaks. */
export function comparePrinterColumns(name: string, before: JsonObject, after: JsonObject): CrdChange[] {
  if (isDeepStrictEqual(before.additionalPrinterColumns ?? [], after.additionalPrinterColumns ?? []))
    return [];
  const message = "kubectl get shows other columns; a script should read fields, not columns.";
  return [safe(versionPlace(name, "additionalPrinterColumns"), "printer-columns-changed", message)];
}
