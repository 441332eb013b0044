import { createHash } from "node:crypto";
import { Document, Scalar, visit } from "yaml";

/**
 * Ten hexadecimal digits that differ where the files differ, for the name of an immutable ConfigMap. The order in
 * which the files are given does not matter.
 */
export function contentHash(files: Readonly<Record<string, string>>): string {
  const entries = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 10);
}

/**
 * A value as YAML within a ConfigMap, ending with a newline. Texts are quoted, since Argo reads YAML 1.1, in which
 * `no` and `1:30` are none; those of several plain lines stay lines, for people.
 */
export function embeddedYaml(value: unknown): string {
  const document = new Document(value);
  visit(document, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === "string" && LINES.test(scalar.value)) scalar.type = Scalar.BLOCK_LITERAL;
    },
  });
  return document.toString({ defaultStringType: "QUOTE_DOUBLE", defaultKeyType: "PLAIN", lineWidth: 0 });
}

/** Lines of ASCII, each with something in it at both ends: indented ones need care, control characters quotes. */
const LINES = /^([!-~]([ -~]*[!-~])?\n)+$/;
