import { Document, isMap, visit } from "yaml";

/** A value as YAML, small objects on a line of their own, as people write them. */
export function yaml(value: unknown): string {
  const document = new Document(value, { aliasDuplicateObjects: false });
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
