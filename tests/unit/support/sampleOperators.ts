import path from "node:path";
import type { OperatorsArgs } from "../../../components/arguments/arguments";
import { Operators } from "../../../components/operators";
import type { OperatorDefinition } from "../../../definition/schema";
import type { JsonObject } from "../../../runtime/base/objects";
import type { Operator } from "../../../runtime/operator/definition";
import {
  addFiles,
  loadDefinition,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "../operatorFolder";

/** A program of its own for a test: operators in folders that are removed afterwards. */
export interface SampleProgram {
  /** The folder of all operators. */
  readonly root: string;
  readonly definitions: readonly Operator[];
}

/** One operator of a {@link SampleProgram}: "Widget" for "widget". */
export interface Sample extends Omit<Partial<OperatorDefinition>, "files"> {
  readonly name: string;
  readonly files?: Readonly<Record<string, string>>;
}

/** Writes and loads operators, each with a CRD of its own in the group shop.example.com. */
export function sampleProgram(samples: readonly Sample[]): SampleProgram {
  const root = writeFolder({});
  const definitions = samples.map(({ name, files = {}, ...definition }) => {
    const folder = path.join(root, name);
    const { crd, ...common } = widgetDefinition;
    // Who watches has no kind of its own.
    const own = definition.watch === undefined && { crd };
    addFiles(folder, { ...(own && { [crd]: crdOf(name) }), "main.py": "print()\n", ...files });
    return loadDefinition(folder, { ...common, ...own, ...definition });
  });
  return { root, definitions };
}

/** One operator of each form, with everything that an author may ask for. */
export const EVERY_FORM: readonly Sample[] = [
  { name: "gear", finalize: true, env: { LEVEL: "1" }, secretEnv: { KEY: { secret: "api", key: "token" } } },
  { name: "press", execution: "pod", namespaces: ["team-a", "team-b"] },
  {
    name: "robot",
    namespaces: ["team-a"],
    rules: [{ apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list"] }],
    files: { "lib/util.py": "x = 1\n" },
  },
  { name: "saw", execution: "pod", rules: [{ apiGroups: [""], resources: ["nodes"], verbs: ["get"] }] },
];

/** A webhook that makes objects of a kind in the namespace team-a. */
export const webhookFor = (kind: string): OperatorDefinition["on"] => ({
  hook: {
    webhook: {
      endpoint: `/${kind}`,
      method: "POST",
      port: "12000",
      authSecret: { name: "hook", key: "token" },
    },
    id: ["body.id"],
    create: { kind, namespace: "team-a", spec: {} },
  },
});

/** A program that makes these operators. */
export function operatorsProgram({ definitions }: SampleProgram, args: Partial<OperatorsArgs> = {}) {
  return () => new Operators("argosy", { handlers: definitions, ...args });
}

/** The CRD of an operator of that name, with further fields in its schema. */
export function crdOf(name: string, properties: JsonObject = {}): JsonObject {
  const kind = (name[0] ?? "").toUpperCase() + name.slice(1);
  return widgetCrd(
    { names: { kind, plural: `${name}s` }, versions: [widgetVersion({}, properties)] },
    { metadata: { name: `${name}s.shop.example.com` } },
  );
}
