import { Document, isMap, visit } from "yaml";
import { keptInteger } from "../runtime/json/json";

/** For the library's `replacer`: integers of 64 bits are written as they were read. */
export function exactly(_key: unknown, value: unknown): unknown {
  return keptInteger(value) ?? value;
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
  return document.toString({ lineWidth: 110, flowCollectionPadding: true });
}
