import { Document, Scalar, visit } from "yaml";

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
