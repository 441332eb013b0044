import { parseDocument, type YAMLMap } from "yaml";
import { ARGUMENT_OF, KEYS } from "../../../program/configuration";
import { type FieldDoc, fieldDocsOf } from "./tsdoc";

/** The interfaces that have an argument of `Operators`, by the first part of its path. */
const INTERFACES_OF: Readonly<Record<string, readonly string[]>> = {
  platform: ["ArgoPlatformArgs", "WorkloadArgs"],
  eventBus: ["EventBusArgs"],
  outsideEvents: ["OutsideEventsArgs"],
  placement: ["PlacementArgs", "PodArgs"],
};

const DOCS = new Map([...fieldDocsOf("components/arguments.ts"), ...fieldDocsOf("program/configuration.ts")]);

/** The TSDoc of the argument that a key of the configuration gives. */
export function docOf(key: string): FieldDoc {
  const path = (ARGUMENT_OF as Readonly<Record<string, string>>)[key];
  const [first = "", second] = path?.split(".") ?? [];
  const owners = path === undefined ? ["Configuration"] : second ? INTERFACES_OF[first] : ["OperatorsArgs"];
  const field = path === undefined ? key : (second ?? first);
  const doc = owners?.map((owner) => DOCS.get(`${owner}.${field}`)).find((each) => each !== undefined);
  if (!doc || doc.text === "") throw new Error(`${key} has no TSDoc in components/arguments.ts`);
  return doc;
}

/** What Pulumi.yaml and the documentation say of a key. */
function describeKey(key: string): string {
  const { text, default: byDefault } = docOf(key);
  const none = KEYS[key]?.default;
  const written = JSON.stringify(none);
  const isNone = ['""', "{}"].includes(written) && byDefault !== undefined && byDefault !== written;
  return isNone ? `${text} ${written} for ${byDefault}.` : text;
}

/** Pulumi.yaml with the configuration's keys as they are now. Whatever else is in it stays. */
export function withKeys(pulumiYaml: string): string {
  const document = parseDocument(pulumiYaml);
  const config = Object.entries(KEYS).map(([key, declaration]) => [
    key,
    { ...declaration, description: describeKey(key) },
  ]);
  document.set("config", document.createNode(Object.fromEntries(config)));
  for (const key of Object.keys(KEYS)) {
    const node = (document.get("config") as YAMLMap).get(key) as YAMLMap;
    const description = node.get("description", true) as { type?: string };
    description.type = "BLOCK_FOLDED";
  }
  return document.toString({ lineWidth: 120, minContentWidth: 20, flowCollectionPadding: false });
}

/** The table of the documentation. */
export function tableOfKeys(): string {
  const rows = Object.entries(KEYS).map(
    ([key, { type, default: value }]) =>
      `| \`${key}\` | ${type} | \`${JSON.stringify(value)}\` | ${describeKey(key)} |\n`,
  );
  return `| key | type | default | meaning |\n| --- | --- | --- | --- |\n${rows.join("")}`;
}
