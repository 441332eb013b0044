import { createHash } from "node:crypto";
import { Document, Scalar, visit } from "yaml";
import type { Manifest } from "../../runtime/program";
import type { ConfigMap } from "./kinds";

/**
 * Ten hexadecimal digits that differ if the files differ, for the name of an immutable ConfigMap. The order of the files does not
 * matter.
 */
export function contentHash(files: Readonly<Record<string, string>>): string {
  const entries = Object.entries(files).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash("sha256").update(JSON.stringify(entries)).digest("hex").slice(0, 10);
}

/** The {@link contentHash} in the name of an immutable ConfigMap. */
export function hashOf({ metadata: { name } }: Manifest): string {
  return name.slice(name.lastIndexOf("-") + 1);
}

/** The content of a ConfigMap: texts, and other files in base64. */
export interface ConfigMapContent {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/**
 * An immutable ConfigMap. The kubelet need not watch it, and each pod sees the content for which it was made. Other content makes
 * another name, and so a roll-out.
 */
export function buildConfigMap(
  prefix: string,
  namespace: string,
  labels: Readonly<Record<string, string>>,
  { data, binaryData = {} }: ConfigMapContent,
): ConfigMap {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${prefix}-${contentHash({ ...data, ...binaryData })}`, namespace, labels },
    immutable: true,
    data,
    ...(Object.keys(binaryData).length > 0 && { binaryData }),
  };
}

/**
 * A value as YAML in a ConfigMap, ending with a newline. Texts are quoted, because Argo reads YAML 1.1, in which `no` and `1:30`
 * are not texts. A text of several plain lines keeps its lines, for people.
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

/** Lines of ASCII that begin and end with visible characters. Other lines would need indentation marks or quotes. */
const LINES = /^([!-~]([ -~]*[!-~])?\n)+$/;
