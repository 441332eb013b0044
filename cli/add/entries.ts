// The things that `argosy add` and `argosy remove` know, each with its words and its entry in operator.yaml.

import { isGranting } from "../../definition/checkGrants";
import { specSchemaOf } from "../../definition/customResourceDefinition";
import { didYouMean } from "../../definition/nearest";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/base/objects";
import { kindOfKey } from "../../runtime/base/resource";
import type { Operator } from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { UsageError } from "../common/commandError";
import { operatorsOptions, option, type ValuesOf } from "../common/options";
import { DEFAULT_HOME } from "../inspect/installed";
import type { Entry } from "./yamlEntry";

/** The options of `argosy add`. */
export const OPTIONS = [
  option("--update <how>", "for a child: apply, recreate or never"),
  option("--grants <what>", "for a child that is a role or a binding: what it may grant, as for a grant"),
  option("--namespace <name>", "for used objects, or for the objects of an event: their namespace"),
  option("--time-zone <name>", "for a schedule: its time zone, for example Europe/Berlin (default: UTC)"),
  ...operatorsOptions(),
];

type Options = ValuesOf<typeof OPTIONS>;

/** The options that only some things have, as they are typed. */
export const OWN_OPTIONS = [
  ["update", "--update"],
  ["grants", "--grants"],
  ["namespace", "--namespace"],
  ["timeZone", "--time-zone"],
] as const;

/** A thing that an operator has in a list or a map of its definition. */
export interface Thing {
  /** How to add it, without "argosy add". */
  readonly usage: string;
  /** The words that `argosy remove` needs after the operator's name. */
  readonly removal: string;
  /** The options that it has. */
  readonly options: readonly (typeof OWN_OPTIONS)[number][0][];
  /** The field of operator.yaml. */
  readonly field: string;
  /** The entries for these words. Undefined if the words are not as in `usage`. @throws UsageError with a remedy */
  entriesOf(
    words: readonly string[],
    options: Options,
    operator: Operator,
  ): readonly Omit<Entry, "field">[] | undefined;
  /** What is to be done elsewhere, after it has been added. */
  advice?(words: readonly string[]): string;
}

/** All things, by the words that name them. */
export const THINGS: Readonly<Record<string, Thing>> = {
  child: {
    usage: "child OPERATOR apps/v1/Deployment [--update recreate]",
    removal: "apps/v1/Deployment",
    options: ["update", "grants"],
    field: "children",
    entriesOf: ([kind, ...others], options, { name, grants: granted = [] }) => {
      const { update, grants } = options;
      if (kind === undefined || others.length > 0) return undefined;
      if (grants === undefined && granted.length === 0 && isGranting(kindOfKey(kind))) {
        throw new UsageError(
          `Say which rights a ${kindOfKey(kind).kind} may grant: ${asTyped(`add child ${name} ${kind} --grants ClusterRole/view`, options)}`,
        );
      }
      return [{ value: update === undefined ? kind : { ...kindOfKey(kind), update } }];
    },
  },
  uses: {
    usage: "uses OPERATOR credentials v1/Secret spec.secret [--namespace shared]",
    removal: "credentials",
    options: ["namespace"],
    field: "uses",
    entriesOf: ([key, kind, name, ...others], { namespace }) => {
      if (key === undefined || kind === undefined || name === undefined || others.length > 0)
        return undefined;
      return [{ key, value: { ...kindOfKey(kind), name, ...(namespace !== undefined && { namespace }) } }];
    },
  },
  schedule: {
    usage: 'schedule OPERATOR nightly "0 3 * * *" [--time-zone Europe/Berlin]',
    removal: "nightly",
    options: ["timeZone"],
    field: "schedules",
    entriesOf: ([key, cron, ...others], { timeZone }) => {
      if (key === undefined || cron === undefined || others.length > 0) return undefined;
      return [{ key, value: { cron, ...(timeZone !== undefined && { timeZone }) } }];
    },
  },
  event: {
    usage: "event OPERATOR order-placed [--namespace shop]",
    removal: "order-placed",
    options: ["namespace"],
    field: "on",
    entriesOf: ([key, ...others], { namespace }, operator) =>
      key === undefined || others.length > 0
        ? undefined
        : [{ key, value: webhookOf(key, operator, namespace) }],
    advice: () => `The intake of events gains the right to create objects of its kind.
Create the Secret that authSecret names in the operators' namespace. Then make id, when and spec match what the sender sends.
The bus needs a volume, unless the program gives one already: pulumi config set outsideEventsStorage 1Gi
  In a program without configuredOperators: new Operators(…, { …, outsideEvents: { storage: "1Gi" } })`,
  },
  rule: {
    usage: "rule OPERATOR get,list jobs.batch",
    removal: "get,list jobs.batch",
    options: [],
    field: "rules",
    entriesOf: (words) => rulesOf(words)?.map((value) => ({ value })),
  },
  grant: {
    usage: "grant OPERATOR ClusterRole/view  (or: get,list jobs.batch)",
    removal: "ClusterRole/view",
    options: [],
    field: "grants",
    entriesOf: (words) => grantsOf(words)?.map((value) => ({ value })),
  },
  env: {
    usage: "env OPERATOR LOG_LEVEL=info",
    removal: "LOG_LEVEL",
    options: [],
    field: "env",
    entriesOf: ([word = "", ...others]) => {
      const at = word.indexOf("=");
      return at < 1 || others.length > 0
        ? undefined
        : [{ key: word.slice(0, at), value: word.slice(at + 1) }];
    },
  },
  secretEnv: {
    usage: "secretEnv OPERATOR API_TOKEN SECRET KEY",
    removal: "API_TOKEN",
    options: [],
    field: "secretEnv",
    entriesOf: ([variable, secret, key, ...others]) =>
      variable === undefined || secret === undefined || key === undefined || others.length > 0
        ? undefined
        : [{ key: variable, value: { secret, key } }],
    advice: ([, secret, key]) =>
      `Create the Secret in the operators' namespace: kubectl -n ${DEFAULT_HOME} create secret generic ${secret} --from-literal ${key}=…`,
  },
};

/** The thing with a name. @throws UsageError if there is none */
export function thingNamed(what: string, command: "add" | "remove"): Thing {
  const thing = Object.hasOwn(THINGS, what) ? THINGS[what] : undefined;
  if (thing) return thing;
  const usages = Object.keys(THINGS).map((each) => `  ${usageOf(each, command)}`);
  const advice = didYouMean(what, Object.keys(THINGS), `Write one of:\n${usages.join("\n")}`);
  throw new UsageError(`argosy ${command} ${what}: there is nothing with this name. ${advice}`);
}

/** How a thing is added or removed. */
export function usageOf(what: string, command: "add" | "remove"): string {
  const { usage = "", removal = "" } = THINGS[what] ?? {};
  return command === "add" ? `argosy add ${usage}` : `argosy remove ${what} OPERATOR ${removal}`;
}

/** What may be granted, as it is typed: "ClusterRole/view", or a rule. Undefined for anything else. */
export function grantsOf(words: readonly string[]): readonly Json[] | undefined {
  const [role = "", ...others] = words;
  return others.length === 0 && /^(Cluster)?Role\//.test(role) ? [role] : rulesOf(words);
}

/** One rule for each API group: "get,list" and "jobs.batch,pods/log", as for `kubectl create role`. Undefined for other words. */
function rulesOf(words: readonly string[]): JsonObject[] | undefined {
  const [verbs, resources, ...others] = words.flatMap((word) => word.split(" "));
  if (!verbs || !resources || others.length > 0) return undefined;
  const byGroup = new Map<string, string[]>();
  // Each once, however often it was typed.
  for (const each of new Set(resources.split(","))) {
    const [, resource = each, group = "", inner = ""] = /^([^./]+)(?:\.([^/]+))?(\/.+)?$/.exec(each) ?? [];
    byGroup.set(group, [...(byGroup.get(group) ?? []), resource + inner]);
  }
  return [...byGroup].map(([group, named]) => ({
    apiGroups: [group],
    resources: named,
    verbs: [...new Set(verbs.split(","))],
  }));
}

/** What tells an entry of a list from the others, in every form of it: "v1/ConfigMap", "ClusterRole/view", "get,list jobs.batch". */
export function nameOf(entry: Json): string {
  if (!isJsonObject(entry)) return String(entry);
  if (entry.kind !== undefined) return `${entry.apiVersion}/${entry.kind}`;
  const textsOf = (field: string) => (Array.isArray(entry[field]) ? entry[field].map(String) : []);
  const resources = textsOf("apiGroups").flatMap((group) =>
    textsOf("resources").map((each) => (group === "" ? each : each.replace(/^[^/]+/, `$&.${group}`))),
  );
  const names = textsOf("resourceNames");
  const only = names.length > 0 ? ` (${names.join(", ")})` : "";
  return `${textsOf("verbs").sort().join(",")} ${resources.sort().join(",")}${only}`;
}

/** A webhook whose body has the fields of the object's spec. */
function webhookOf(name: string, { customResource, crd }: Operator, namespace = "default"): JsonObject {
  const { required, properties } = specSchemaOf({ crd, customResource }) ?? {};
  const needed = Array.isArray(required) ? required : [];
  const fields = Object.entries(isJsonObject(properties) ? properties : {}).map(([field, inner]) => {
    const isOptional = !needed.includes(field) || (isJsonObject(inner) && inner.default !== undefined);
    return [field, `body.${field}${isOptional ? "?" : ""}`];
  });
  return {
    webhook: {
      endpoint: `/${name}`,
      method: "POST",
      port: "12000",
      authSecret: { name, key: "token" },
    },
    id: ["body.id"],
    create: {
      kind: customResource.kind,
      ...(customResource.namespaced && { namespace }),
      spec: Object.fromEntries(fields),
    },
  };
}
