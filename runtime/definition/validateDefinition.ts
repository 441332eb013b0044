import type { OperatorDefinition } from "./definition";
import type { Report } from "./operatorError";
import {
  anyText,
  DNS_LABEL,
  fields,
  flag,
  integer,
  isRecord,
  listOf,
  mapOf,
  oneOf,
  optional,
  pattern,
  type Shape,
  text,
} from "./shape";

/** A DNS label that may be the beginning of a Service's name (RFC 1035): those have a letter first. */
const SERVICE_LABEL = /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/;
/** Group and version: "v1", "apps/v1", "cache.example.com/v1alpha1". */
const API_VERSION = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*$/;
/** A quantity of Kubernetes: "100m", "128Mi". */
const QUANTITY = /^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;
const ENVIRONMENT_VARIABLE = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** An operator's name becomes part of longer names, of which a Service's is the shortest: 63. */
const LONGEST_NAME = 40;

/** Cron knows nothing shorter than a minute. In seconds. */
const SHORTEST_POD_RESYNC = 60;

const nameShape = text(
  `Use at most ${LONGEST_NAME} lower-case letters, digits and "-", a letter first, for example name: "memcached".`,
  (name) =>
    name.length <= LONGEST_NAME && SERVICE_LABEL.test(name)
      ? undefined
      : `is "${name}", not a DNS label of at most ${LONGEST_NAME} characters that begins with a letter`,
);

/** The longest installation: with a dot and the longest name, an identity still fits into a label. */
const LONGEST_INSTALLATION = 20;

/** What tells the operators of one program from those of others in the same cluster. */
export const INSTALLATION_SHAPE = text(
  `Use at most ${LONGEST_INSTALLATION} lower-case letters, digits and "-", for example "argosy".`,
  (installation) =>
    isShort(installation, LONGEST_INSTALLATION)
      ? undefined
      : `is "${installation}", not a DNS label of at most ${LONGEST_INSTALLATION} characters`,
);

const formerNameShape = text(
  'Give a name that the operator had, for example "cache", or with its installation, "shop.cache".',
  (former) => {
    const [name = "", ...installations] = former.split(".").reverse();
    const isIdentity =
      isShort(name, LONGEST_NAME) &&
      installations.length <= 1 &&
      installations.every((installation) => isShort(installation, LONGEST_INSTALLATION));
    return isIdentity ? undefined : `is "${former}", which no operator can have been called`;
  },
);

const imageShape = text('Pin the image by tag or digest, for example image: "python:3.13-slim".', (image) => {
  if (/\s/.test(image)) return `is "${image}", which no image is called`;
  if (/@sha256:[0-9a-f]{64}$/.test(image)) return undefined;
  // A colon before the last slash belongs to a registry's port.
  const tag = image.slice(image.lastIndexOf("/") + 1).split(":")[1];
  if (!tag) return `is "${image}", without a tag or a digest`;
  return tag === "latest" ? `is "${image}", and what "latest" is changes` : undefined;
});

const commandShape = fields(
  {
    image: imageShape,
    command: listOf(
      text('Write each word of the command as a text of its own, for example ["python3", "main.py"].'),
      'Give program and arguments, for example command: ["python3", "main.py"].',
      1,
    ),
  },
  'Write, for example, handler: { image: "python:3.13-slim", command: ["python3", "main.py"] }.',
);

const functionShape = pattern(
  /^[\w-][\w./-]*\.(py|js|ts)$/,
  "a file in Python, JavaScript or TypeScript",
  'Name the file that defines reconcile(request), for example handler: "main.py".',
);

const handlerShape: Shape = {
  remedy: 'Name the file that defines reconcile(request), for example handler: "main.py".',
  check(value, field, report) {
    (typeof value === "string" ? functionShape : commandShape).check(value, field, report);
  },
};

/** Fields that have a meaning in the contract and are not built yet. They are refused until they are. */
const RESERVED_FIELDS = ["uses", "watch", "on", "schedules", "grants", "guards"];

const childShape = fields(
  {
    apiVersion: pattern(
      API_VERSION,
      "a group and version",
      'Write it as the manifest does, for example apiVersion: "apps/v1".',
    ),
    kind: pattern(
      /^[A-Z][A-Za-z0-9]*$/,
      "a kind",
      'Name the kind as the manifest does, for example kind: "Service".',
    ),
    update: optional(oneOf(["apply", "recreate", "never"], 'Leave it out for "apply".')),
    plural: optional(
      pattern(
        /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
        "the lower-case plural of a resource",
        "Name it as `kubectl api-resources` does.",
      ),
    ),
    retired: optional(flag("Write it of a kind that the handler no longer answers, or leave it out.")),
  },
  'Write, for example, { apiVersion: "apps/v1", kind: "Deployment" }.',
);

const resourceListShape = mapOf(
  text("Name a resource, for example memory."),
  pattern(QUANTITY, "a quantity", 'Write it as a text, for example memory: "128Mi".'),
  'Write, for example, { cpu: "100m", memory: "128Mi" }.',
);

const variableNameShape = pattern(
  ENVIRONMENT_VARIABLE,
  "the name of an environment variable",
  "Use letters, digits and _, and no digit first.",
);

const ruleEntryShape = text('Name each one; "*" would allow more than anybody has read.', (value) =>
  value.includes("*") ? `is "${value}", a wildcard` : undefined,
);

/** Verbs that let their holder gain any permission whatever. */
const ESCALATING_VERBS = ["escalate", "bind", "impersonate"];

const verbShape = text("Name each verb that the handler needs, for example get.", (verb) => {
  if (verb.includes("*")) return `is "${verb}", a wildcard`;
  return ESCALATING_VERBS.includes(verb)
    ? `is "${verb}", with which every other right can be had`
    : undefined;
});

const ruleShape = fields(
  {
    // The core group is the empty text, which is no mistake here.
    apiGroups: listOf(
      {
        ...ruleEntryShape,
        check(group, field, report) {
          if (group !== "") ruleEntryShape.check(group, field, report);
        },
      },
      'Name the API groups, for example apiGroups: ["batch"]; "" is the core group.',
      1,
    ),
    resources: listOf(ruleEntryShape, 'Name the resources, for example resources: ["jobs"].', 1),
    verbs: listOf(verbShape, 'Name the verbs, for example verbs: ["get", "list"].', 1),
    resourceNames: optional(listOf(ruleEntryShape, "Name the objects, or leave it out for all of them.")),
  },
  'Write, for example, { apiGroups: ["batch"], resources: ["jobs"], verbs: ["get", "list"] }.',
);

const namespaceListShape = listOf(
  pattern(DNS_LABEL, "the name of a namespace", 'Name a namespace, for example "team-a".'),
  'Write "all" or a list of namespaces, for example ["team-a"].',
  1,
);

const definitionShape = fields(
  {
    crd: text(
      'Give the path of the CustomResourceDefinition in the operator\'s folder, for example crd: "crd.yaml".',
    ),
    handler: handlerShape,
    image: optional(imageShape),
    children: listOf(childShape, "List every kind that the handler may answer; [] where it answers none."),
    name: optional(nameShape),
    formerNames: optional(
      listOf(
        formerNameShape,
        'List the names that the operator had, for example ["cache"], or leave it out.',
      ),
    ),
    execution: optional(oneOf(["resident", "pod"], 'Leave it out for "resident".')),
    concurrency: optional(integer(1, 128, "Leave it out for 64.")),
    timeoutSeconds: optional(integer(1, 3600, "Leave it out for 30.")),
    resyncSeconds: optional(integer(10, 86400, "Leave it out for 600.")),
    namespaces: optional({
      remedy: 'Write "all" or a list of namespaces, for example ["team-a"].',
      check(value, field, report) {
        if (value !== "all") namespaceListShape.check(value, field, report);
      },
    }),
    finalize: optional(flag("Leave it out for false.")),
    resources: optional(
      fields(
        { requests: optional(resourceListShape), limits: optional(resourceListShape) },
        'Write, for example, { limits: { memory: "128Mi" } }.',
      ),
    ),
    env: optional(
      mapOf(variableNameShape, anyText("Quote it."), 'Write, for example, env: { LOG_LEVEL: "info" }.'),
    ),
    secretEnv: optional(
      mapOf(
        variableNameShape,
        fields(
          {
            secret: pattern(
              /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
              "the name of a Secret",
              "Name the Secret in the runner's namespace.",
            ),
            key: pattern(/^[-._a-zA-Z0-9]+$/, "a key of a Secret", "Name the key in that Secret."),
          },
          'Write, for example, { secret: "api", key: "token" }.',
        ),
        'Write, for example, secretEnv: { API_TOKEN: { secret: "api", key: "token" } }.',
      ),
    ),
    record: optional(oneOf(["changes", "all", "failures"], 'Leave it out for "changes".')),
    rules: optional(listOf(ruleShape, "List RBAC rules, or leave it out.")),
  },
  "Write export default defineOperator({ crd, handler, children }).",
  RESERVED_FIELDS,
);

/**
 * Checks the shape of a definition: known fields, their types, ranges and spelling. What can only be told with
 * the operator's files at hand is checked by `loadOperator`.
 *
 * @returns whether everything was in order; where not, all of it has been reported
 */
export function validateDefinition(definition: unknown, report: Report): definition is OperatorDefinition {
  let valid = true;
  const noted: Report = (...problem) => {
    valid = false;
    report(...problem);
  };
  if (!isRecord(definition)) {
    noted("the default export", "is missing or not an object", definitionShape.remedy);
    return false;
  }
  definitionShape.check(definition, "", noted);
  checkVariables(definition, noted);
  if (definition.image !== undefined && isRecord(definition.handler)) {
    noted("image", "is for a function", "Put it into handler, beside its command.");
  }
  if (definition.execution === "pod") checkPod(definition, noted);
  return valid;
}

function isShort(label: string, longest: number): boolean {
  return label.length <= longest && DNS_LABEL.test(label);
}

/** The name that an operator has where its definition gives none: its folder's. */
export function checkFolderName(name: string, report: Report): void {
  nameShape.check(name, "name (of the folder)", report);
}

function checkVariables({ env, secretEnv }: Record<string, unknown>, report: Report): void {
  if (!isRecord(env) || !isRecord(secretEnv)) return;
  for (const name of Object.keys(env)) {
    if (!Object.hasOwn(secretEnv, name)) continue;
    report(`secretEnv.${name}`, "is in env as well", "Keep one of the two.");
  }
}

/** What a resident runner could do, and a pod for each run cannot. */
function checkPod(definition: Record<string, unknown>, report: Report): void {
  const { concurrency, record, resyncSeconds, env, handler } = definition;
  const inPod = 'with execution: "pod"';
  if (concurrency !== undefined) {
    report("concurrency", `has no meaning ${inPod}: each run has a pod of its own`, "Leave it out.");
  }
  if (record !== undefined) {
    report("record", `has no meaning ${inPod}: every run is a Workflow`, "Leave it out.");
  }
  if (typeof resyncSeconds === "number" && resyncSeconds < SHORTEST_POD_RESYNC) {
    report(
      "resyncSeconds",
      `is ${resyncSeconds}, less than the minute that a CronWorkflow has for its shortest step`,
      `Give at least ${SHORTEST_POD_RESYNC}, or leave out execution: "pod".`,
    );
  }
  const texts = {
    ...textsOf(env, "env"),
    ...textsOf(isRecord(handler) && handler.command, "handler.command"),
  };
  for (const [field, value] of Object.entries(texts)) {
    if (!value.includes("{{")) continue;
    const complaint = `has "{{", which Argo Workflows would read as a variable of its own ${inPod}`;
    report(field, complaint, "Put it into a file of the folder, or into a Secret for secretEnv.");
  }
}

/** The texts of a list or an object, by field. */
function textsOf(parent: unknown, field: string): Record<string, string> {
  if (typeof parent !== "object" || parent === null) return {};
  const name = (key: string) => (Array.isArray(parent) ? `${field}[${key}]` : `${field}.${key}`);
  const texts = Object.entries(parent).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return Object.fromEntries(texts.map(([key, value]) => [name(key), value]));
}
