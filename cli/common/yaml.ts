import { Document, isMap, Scalar, type ToStringOptions, visit } from "yaml";
import { readByKubectl } from "../../definition/readByKubectl";
import { escaped, keptInteger } from "../../runtime/base/json";

/** For the library's `replacer`: integers of 64 bits are written as they were read. */
export function exactly(_key: unknown, value: unknown): unknown {
  return keptInteger(value) ?? value;
}

/** The ends of lines that only YAML 1.1 knows. kubectl would read a line feed. */
const OTHER_LINE_ENDS = /[\u0085\u2028\u2029]/g;

/** A document as text that every reader of YAML reads alike, `readYaml` and kubectl too. What they read otherwise gets quotes. */
export function textOf(document: Document, options: ToStringOptions = {}): string {
  visit(document, {
    Scalar(_key, scalar) {
      const { value } = scalar;
      if (typeof value !== "string") return;
      const isPlain =
        value !== "<<" && value.search(OTHER_LINE_ENDS) < 0 && readByKubectl(value) === undefined;
      if (!isPlain) scalar.type = Scalar.QUOTE_DOUBLE;
    },
  });
  return document.toString(options).replace(OTHER_LINE_ENDS, escaped);
}

/** A manifest as YAML: every value written out, long texts readable. */
export function manifestYaml(manifest: object): string {
  const document = new Document(manifest, { aliasDuplicateObjects: false, compat: "yaml-1.1" });
  return textOf(document, { lineWidth: 0 });
}

/** A value as YAML, small objects on a line of their own, as people write them. */
export function yaml(value: unknown): string {
  const document = new Document(value, exactly, { aliasDuplicateObjects: false });
  visit(document, {
    Map(_key, map, path) {
      if (path.length < 2 || map.items.length === 0) return;
      if (map.items.every(({ value: inner }) => !isMap(inner)) && String(map).length < 70) map.flow = true;
    },
    Seq(_key, seq) {
      if (seq.items.every((item) => !isMap(item))) seq.flow = true;
    },
  });
  return textOf(document, { lineWidth: 110, flowCollectionPadding: true });
}
