import { breaking, type CrdChange, type Place, safe } from "./change";
import { isIntOrString, type Schema, typesOf } from "./schema";
import { inStatus } from "./wording";

/** Whether a value may have other types than before. */
export function compareTypes(before: Schema, after: Schema, place: Place): CrdChange[] {
  const old = typesOf(before);
  const now = typesOf(after);
  const what = `The type went from ${nameOf(before)} to ${nameOf(after)}`;
  if (old.some((type) => !now.includes(type))) {
    const readers = inStatus(place)
      ? "the operator that writes the old one"
      : "clients that send the old one";
    return [
      breaking(
        place,
        "type-changed",
        `${what}: stored objects are refused at their next write, and so are ${readers}; leave the field, and add another of the new type.`,
      ),
    ];
  }
  if (now.length === old.length) return [];
  return [
    safe(
      place,
      "type-widened",
      `${what}: what was valid stays so; a client that decodes the old type alone fails at the first value of another.`,
    ),
  ];
}

function nameOf(schema: Schema): string {
  if (isIntOrString(schema)) return "int-or-string";
  return typeof schema.type === "string" && schema.type !== "" ? schema.type : "any";
}
