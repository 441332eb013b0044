import { breaking, type CrdChange, type Place, safe } from "./change";
import { type Schema, typesOf } from "./schema";
import { loosened, show, tightened } from "./wording";

/**
 * Formats of texts that the API server checks (apiextensions-apiserver, validation/formats.go), without hyphens. The last
 * two are in its list since 1.34, though 1.34.1 does not check them yet.
 */
const CHECKED = new Set(
  [
    [
      "bsonobjectid",
      "uri",
      "email",
      "hostname",
      "ipv4",
      "ipv6",
      "cidr",
      "mac",
      "uuid",
      "uuid3",
      "uuid4",
      "uuid5",
    ],
    [
      "isbn",
      "isbn10",
      "isbn13",
      "creditcard",
      "ssn",
      "hexcolor",
      "rgbcolor",
      "byte",
      "date",
      "duration",
      "datetime",
    ],
    ["k8sshortname", "k8slongname"],
  ].flat(),
);

/** Formats of numbers, which it does not check: clients that are generated from the schema take their types from them. */
const NARROW: Readonly<Record<string, string>> = { int32: "32 bits", float: "single precision" };

/** The format of a text or a number. */
export function compareFormats(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [formatOf(before), formatOf(after)];
  if (old === now) return [];
  const change = old === "" ? "format-added" : now === "" ? "format-removed" : "format-changed";
  const what = `The format went from ${show(old || undefined)} to ${show(now || undefined)}`;
  const types = typesOf(before);
  if (types.includes("string") && isChecked(now) && plain(old) !== plain(now)) {
    return [tightened(place, change, what, "a text that is not of this format")];
  }
  const narrow = NARROW[now];
  if (narrow !== undefined && types.includes("integer")) {
    return [
      breaking(
        place,
        change,
        `${what}: generated clients read it with ${narrow}, and fail at stored objects with a value beyond; keep the old format.`,
      ),
    ];
  }
  if (isChecked(old) || NARROW[old] !== undefined) return [loosened(place, change, what)];
  return [safe(place, change, `${what}: the API server checks neither of them.`)];
}

function formatOf({ format }: Schema): string {
  return typeof format === "string" ? format : "";
}

function isChecked(format: string): boolean {
  return CHECKED.has(plain(format));
}

/** "date-time" and "datetime" are one to the API server. */
function plain(format: string): string {
  return format.replaceAll("-", "");
}
