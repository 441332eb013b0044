import { Document, isMap, isScalar, Scalar, visit } from "yaml";
import { keptInteger } from "../runtime/json/json";

/** For the library's `replacer`: integers of 64 bits are written as they were read. */
export function exactly(_key: unknown, value: unknown): unknown {
  return keptInteger(value) ?? value;
}

/** Puts quotes around each key that would be a merge key without them, which the readers of YAML files refuse. */
export function quoteMergeKeys(document: Document): void {
  visit(document, {
    Pair(_, { key }) {
      if (isScalar(key) && key.value === "<<") key.type = Scalar.QUOTE_DOUBLE;
    },
  });
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
  quoteMergeKeys(document);
  return document.toString({ lineWidth: 110, flowCollectionPadding: true });
}
