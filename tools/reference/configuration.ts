// The keys of a stack's configuration, in Pulumi.yaml and in the documentation.
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseDocument, type YAMLMap } from "yaml";
import { KEYS } from "../../components/arguments/configuration";
import { PACKAGE_FOLDER } from "../packageFolder";
import { code, table } from "./table";

/** Pulumi.yaml with the keys as they are now. Whatever else is in it stays. */
export function pulumiYaml(): string {
  const document = parseDocument(readFileSync(path.join(PACKAGE_FOLDER, "Pulumi.yaml"), "utf8"));
  document.set("config", document.createNode(KEYS));
  for (const key of Object.keys(KEYS)) {
    const node = (document.get("config") as YAMLMap).get(key) as YAMLMap;
    const description = node.get("description", true) as { type?: string };
    description.type = "BLOCK_FOLDED";
  }
  return document.toString({ lineWidth: 120, minContentWidth: 20, flowCollectionPadding: false });
}

const INTRODUCTION = `# Configuration keys

The keys of \`Pulumi.<stack>.yaml\`. This page is generated from the arguments of which they are the names. [Configuration](../configuration.md) says which programs read them.
`;

/** docs/reference/configuration.md: every key with its default. */
export function configurationPage(): string {
  const rows = Object.entries(KEYS).map(([key, { type, default: value, description }]) => [
    code(key),
    type,
    code(JSON.stringify(value)),
    description,
  ]);
  return `${INTRODUCTION}\n${table(["key", "type", "default", "meaning"], rows)}`;
}
