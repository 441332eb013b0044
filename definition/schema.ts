import type { z } from "zod";
import {
  type ChildKind,
  FUNCTION_IMAGES,
  type PolicyRule,
  WATCHED_PARTS,
} from "../runtime/definition/definition";
import { RBAC_GROUP } from "../runtime/kubernetes/kinds";
import { kindOfKey } from "../runtime/kubernetes/resource";
import { CronError, parseCron } from "../runtime/schedules/cron";
import { isTimeZone } from "../runtime/schedules/timeZone";
import {
  anyText,
  complainIn,
  either,
  fields,
  filledListOf,
  flag,
  integer,
  listOf,
  mapOf,
  oneOf,
  pattern,
  quoted,
  text,
  word,
} from "./checks";
import { OUTSIDE_EVENTS } from "./outsideEvents";

/** A DNS label (RFC 1123), of any length that one may have: the name of a namespace is one. */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/** Cron knows nothing shorter than a minute. In seconds. */
const SHORTEST_POD_RESYNC = 60;

/** An operator's name becomes part of longer names, of which a Service's is the shortest: 63. */
const LONGEST_NAME = 40;

/** The longest installation: with a dot and the longest name, an identity still fits into a label. */
const LONGEST_INSTALLATION = 20;

/** An operator's name: the beginning of a Service's, and those have a letter first (RFC 1035). */
export const NAME = pattern(
  new RegExp(`^(?=.{1,${LONGEST_NAME}}$)[a-z]([-a-z0-9]*[a-z0-9])?$`),
  `a DNS label of at most ${LONGEST_NAME} characters that begins with a letter`,
  `Use at most ${LONGEST_NAME} lower-case letters, digits and "-", a letter first, for example name: memcached.`,
);

/** What tells the operators of one program from those of others in the same cluster. */
export const INSTALLATION = pattern(
  new RegExp(`^(?=.{1,${LONGEST_INSTALLATION}}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$`),
  `a DNS label of at most ${LONGEST_INSTALLATION} characters`,
  `Use at most ${LONGEST_INSTALLATION} lower-case letters, digits and "-", for example "argosy".`,
);

const formerName = text(
  "Give a name that the operator had, for example cache, or with its installation, shop.cache.",
  (former) => {
    const [name = "", ...installations] = former.split(".").reverse();
    const isIdentity =
      isShort(name, LONGEST_NAME) &&
      installations.length <= 1 &&
      installations.every((installation) => isShort(installation, LONGEST_INSTALLATION));
    return isIdentity ? undefined : `is ${quoted(former)}, which no operator can have been called`;
  },
);

function isShort(label: string, longest: number): boolean {
  return label.length <= longest && DNS_LABEL.test(label);
}

const image = text("Pin the image by tag or digest, for example image: python:3.13-slim.", (name) => {
  if (/\s/.test(name)) return `is ${quoted(name)}, which no image is called`;
  if (/@sha256:[0-9a-f]{64}$/.test(name)) return undefined;
  // A colon before the last slash belongs to a registry's port.
  const tag = name.slice(name.lastIndexOf("/") + 1).split(":")[1];
  if (!tag) return `is ${quoted(name)}, without a tag or a digest`;
  return tag === "latest" ? `is ${quoted(name)}, and what "latest" is changes` : undefined;
});

const HANDLER_REMEDY = "Name the file that defines reconcile(request), for example handler: main.py.";

const functionFile = pattern(
  /^[\w-][\w./-]*\.(py|js|ts)$/,
  "a file in Python, JavaScript or TypeScript",
  HANDLER_REMEDY,
).describe("A file that defines reconcile(request): main.py, main.js or main.ts.");

const handlerCommand = fields(
  {
    image: image.describe("The stock image that it runs in, pinned."),
    command: filledListOf(
      text('Write each word of the command as a text of its own, for example ["python3", "main.py"].'),
      'Give program and arguments, for example command: ["python3", "main.py"].',
    ).describe("Program and arguments, started in the operator's folder."),
  },
  'Write, for example, handler: { image: "python:3.13-slim", command: ["python3", "main.py"] }.',
).describe("A program of any language, which reads one line of JSON and writes one.");

const CHILD_REMEDY = "Write, for example, apps/v1/Deployment, or { apiVersion: apps/v1, kind: Deployment }.";

const childInShort = pattern(
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*\/[A-Z][A-Za-z0-9]*$/,
  "a group, a version and a kind",
  CHILD_REMEDY,
)
  .describe("Group, version and kind: apps/v1/Deployment, v1/Service.")
  .transform((child): ChildKind => kindOfKey(child));

const apiVersion = pattern(
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*$/,
  "a group and version",
  "Write it as the manifest does, for example apiVersion: apps/v1.",
).describe("Group and version, as in the manifest: apps/v1, v1.");

const kind = pattern(
  /^[A-Z][A-Za-z0-9]*$/,
  "a kind",
  "Name the kind as the manifest does, for example kind: Service.",
).describe("The kind, as in the manifest: Deployment.");

const plural = pattern(
  /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
  "the lower-case plural of a resource",
  "Name it as `kubectl api-resources` does.",
);

const childKind = fields(
  {
    apiVersion,
    kind,
    update: oneOf(["apply", "recreate", "never"], "Leave it out for apply.")
      .optional()
      .describe(
        "What happens when the handler answers other content for a child that exists. apply: server-side apply. " +
          "recreate: the same, and a child with a field that cannot be changed is deleted and created again. " +
          "never: created once and then left alone. Default: apply.",
      ),
    plural: plural
      .optional()
      .describe(
        "The resource's name in the API: deployments. Needed only for a kind that is not Kubernetes' own and has an irregular plural.",
      ),
    retired: flag("Write it of a kind that the handler no longer answers, or leave it out.")
      .optional()
      .describe(
        "The handler answers this kind no longer, but once did. What is left of it is deleted. Default: false.",
      ),
  },
  CHILD_REMEDY,
);

const USE_REMEDY =
  "Write, for example, credentials: { apiVersion: v1, kind: Secret, name: spec.credentialsSecret }.";
const TERM_REMEDY = `Give the path of a field, for example spec.credentialsSecret, or a constant in quotes: "'settings'".`;

const term = text(TERM_REMEDY);

/** Longer keys and more of them are a slip: each use is a watch of its own. */
const MOST_USES = 32;

const useKey = pattern(
  /^[a-z][A-Za-z0-9]{0,39}$/,
  "a name of letters and digits",
  "Begin with a lower-case letter, for example credentials: at most 40 letters and digits.",
);

const use = fields(
  {
    apiVersion: childKind.shape.apiVersion,
    kind: childKind.shape.kind,
    plural: childKind.shape.plural,
    name: term
      .optional()
      .describe(
        "The object's name: the path of a field of the custom resource (spec.credentialsSecret), or a constant in quotes " +
          "(\"'settings'\"). A path with [*] gives a list.",
      ),
    labels: mapOf(
      text("Name a label, for example app."),
      term,
      "Write, for example, labels: { app: metadata.name }.",
    )
      .optional()
      .describe(
        "Labels that the objects have. Each value is a path or a constant, as name is. Gives a list.",
      ),
    namespace: pattern(DNS_LABEL, "the name of a namespace", "Name a namespace, for example shared.")
      .optional()
      .describe("The namespace of the objects, a constant. Default: that of the custom resource."),
    names: filledListOf(
      text("Name an object, for example database-credentials."),
      "List the names that the field may have, or leave it out.",
    )
      .optional()
      .describe(
        "The only names that a custom resource may give in the field. A Secret that is not listed needs the label " +
          "argosy.dev/used-by.",
      ),
  },
  USE_REMEDY,
).superRefine(({ name, labels }, context) => {
  const complain = complainIn(context);
  if (name !== undefined && labels !== undefined)
    complain(["labels"], "is given beside name", "Keep one of the two.", []);
  if (name === undefined && labels === undefined)
    complain([], "has neither name nor labels", "Say which objects: name: spec.credentialsSecret.");
  if (labels !== undefined && Object.keys(labels).length === 0)
    complain(["labels"], "is empty, and would be every object of the kind", "Name a label.");
});

const uses = mapOf(useKey, use, USE_REMEDY).superRefine((given, context) => {
  const count = Object.keys(given).length;
  if (count > MOST_USES)
    complainIn(context)(
      [],
      `has ${count} entries, more than ${MOST_USES}`,
      "Use fewer kinds, or select by labels.",
    );
});

const quantities = mapOf(
  text("Name a resource, for example memory."),
  pattern(
    /^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/,
    "a quantity",
    'Write it as a text, for example memory: 128Mi or cpu: "1".',
  ),
  "Write, for example, { cpu: 100m, memory: 128Mi }.",
).optional();

const variableName = pattern(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  "the name of an environment variable",
  "Use letters, digits and _, and no digit first.",
);

const secretKey = fields(
  {
    secret: pattern(
      /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
      "the name of a Secret",
      "Name the Secret in the runner's namespace.",
    ).describe("Name of the Secret, in the runner's namespace."),
    key: pattern(/^[-._a-zA-Z0-9]+$/, "a key of a Secret", "Name the key in that Secret.").describe(
      "The key in that Secret.",
    ),
  },
  "Write, for example, { secret: api, key: token }.",
);

const noWildcard = (value: string) => (value.includes("*") ? `is ${quoted(value)}, a wildcard` : undefined);
const WILDCARD_REMEDY = 'Name each one; "*" would allow more than anybody has read.';
const ruleEntry = text(WILDCARD_REMEDY, noWildcard);

/** Verbs that let their holder gain any permission whatever. */
const ESCALATING_VERBS = ["escalate", "bind", "impersonate"];

const rule = fields(
  {
    apiGroups: filledListOf(
      // The core group is the empty text.
      text(WILDCARD_REMEDY, noWildcard, 0),
      'Name the API groups, for example apiGroups: [batch]; "" is the core group.',
    ).describe('API groups: batch. "" is the core group. No wildcard.'),
    resources: filledListOf(ruleEntry, "Name the resources, for example resources: [jobs].").describe(
      "Resources in the plural: jobs, pods/log. No wildcard.",
    ),
    verbs: filledListOf(
      text("Name each verb that the handler needs, for example get.", (verb) => {
        const escalates = ESCALATING_VERBS.includes(verb);
        return escalates ? `is ${quoted(verb)}, with which every other right can be had` : noWildcard(verb);
      }),
      "Name the verbs, for example verbs: [get, list].",
    ).describe("Verbs: get, list, create. No wildcard, and none by which its holder gains other rights."),
    resourceNames: listOf(ruleEntry, "Name the objects, or leave it out for all of them.")
      .optional()
      .describe("Only the objects with these names. Default: all of them."),
  },
  "Write, for example, { apiGroups: [batch], resources: [jobs], verbs: [get, list] }.",
);

const GRANT_REMEDY = "Write a rule { apiGroups, resources, verbs }, or the name of a role: ClusterRole/view.";

const existingRole = pattern(
  /^(Cluster)?Role\/[A-Za-z0-9]([-A-Za-z0-9:._]*[A-Za-z0-9])?$/,
  "Role or ClusterRole with a name",
  GRANT_REMEDY,
)
  .describe("A role that is there, to which a binding may refer: ClusterRole/view, Role/reader.")
  .transform((role): PolicyRule => {
    const [kind = "", name = ""] = role.split("/");
    return {
      apiGroups: [RBAC_GROUP],
      resources: [`${kind.toLowerCase()}s`],
      verbs: ["bind"],
      resourceNames: [name],
    };
  });

const SCHEDULES_REMEDY =
  'Write, for example, schedules: { nightly: { cron: "0 3 * * *", timeZone: Europe/Berlin } }.';

const schedule = fields(
  {
    cron: text('Write five fields, for example cron: "0 3 * * *" for every night at three.', (fields) => {
      try {
        parseCron(fields);
        return undefined;
      } catch (error) {
        if (error instanceof CronError) return error.message;
        throw error;
      }
    }).describe("Minute, hour, day of the month, month and day of the week, as in Kubernetes' CronJob."),
    timeZone: text(
      "Name a time zone as its database does, for example Europe/Berlin, or leave it out for UTC.",
      (name) =>
        isTimeZone(name) ? undefined : `is ${quoted(name)}, which is no time zone that is known here`,
    )
      .default("UTC")
      .describe("A name of the time zone database. Default: UTC."),
    spreadSeconds: integer(0, 86400, "Leave it out for 60.")
      .default(60)
      .describe(
        "Within how many seconds the objects have their turns, by their uids. 0 to 86400. Default: 60.",
      ),
  },
  SCHEDULES_REMEDY,
);

const NAMESPACES_REMEDY = "Write all or a list of namespaces, for example [team-a].";

const namespacesField = either(
  [
    word("all", 'not "all" and no list', NAMESPACES_REMEDY),
    filledListOf(
      pattern(DNS_LABEL, "the name of a namespace", "Name a namespace, for example team-a."),
      NAMESPACES_REMEDY,
    ),
  ],
  '"all" or a list',
  NAMESPACES_REMEDY,
);

const LABEL_REMEDY = 'Write, for example, labels: { notify: "true" }.';

const WATCH_REMEDY = "Write, for example, watch: { apiVersion: apps/v1, kind: Deployment }.";

const watch = fields(
  {
    apiVersion,
    kind,
    plural: plural
      .optional()
      .describe(
        "The resource's name in the API: deployments. Needed only for a kind that is not Kubernetes' own and has an irregular plural.",
      ),
    labels: mapOf(
      pattern(
        /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
        "the name of a label",
        LABEL_REMEDY,
      ),
      text(
        LABEL_REMEDY,
        (value) => {
          if (value.includes("*")) return `is ${quoted(value)}, a wildcard: a label has one value`;
          const isValue = /^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/.test(value);
          return isValue ? undefined : `is ${quoted(value)}, which no label can have for its value`;
        },
        0,
      ),
      LABEL_REMEDY,
    )
      .optional()
      .describe("Only objects with all of these labels. Default: every object of the kind."),
    namespaces: namespacesField
      .optional()
      .describe(
        "The namespaces whose objects are watched: the same as namespaces beside watch. Default: all.",
      ),
    on: filledListOf(
      oneOf(WATCHED_PARTS, "Leave it out for all three."),
      "Leave it out for all three: [spec, status, labels].",
    )
      .optional()
      .describe(
        "What counts as a change of an object. spec: all but metadata and status. labels: labels and annotations. " +
          "Default: all three.",
      ),
  },
  WATCH_REMEDY,
).describe(
  "Objects of a kind that is not the operator's own, in the place of crd. Nothing is written on them: the operator has the " +
    "right to read them, and no other.",
);

/** The fields that a definition may leave out, and a program's overrides may give in its place. */
const OVERRIDABLE = {
  image: image.describe(
    `The image of a function, pinned. Default: ${FUNCTION_IMAGES.python} for Python, ${FUNCTION_IMAGES.javascript} for ` +
      "JavaScript and TypeScript.",
  ),
  execution: oneOf(["resident", "pod"], "Leave it out for resident.").describe(
    "resident: a living runner. pod: a pod of its own for each run. Default: resident.",
  ),
  concurrency: integer(1, 128, "Leave it out for 64, or 32 with execution: pod.").describe(
    "For how many objects the handler is asked at once, 1 to 128. With execution: pod, how many runs have a pod at once; " +
      "the others wait without one. Default: 64, and 32 with execution: pod.",
  ),
  timeoutSeconds: integer(1, 3600, "Leave it out for 30.").describe(
    "After so many seconds without an answer the handler's processes are killed. 1 to 3600. Default: 30.",
  ),
  resyncSeconds: integer(10, 86400, "Leave it out for 600.").describe(
    "Every object is reconciled at least this often, in seconds. 10 to 86400. With execution: pod 60 or more, and the " +
      "next shorter step of cron: 700 is every ten minutes. Default: 600.",
  ),
  namespaces: namespacesField.describe("The namespaces whose objects are handled. Default: all."),
  resources: fields(
    {
      requests: quantities.describe("What the container is sure to get: cpu: 100m, memory: 64Mi."),
      limits: quantities.describe("What it must not exceed: memory: 128Mi."),
    },
    "Write, for example, { limits: { memory: 128Mi } }.",
  ).describe("Requests and limits of the handler's container, in Kubernetes quantities."),
  env: mapOf(
    variableName,
    anyText("A variable is a text, for example LOG_LEVEL: info."),
    "Write, for example, env: { LOG_LEVEL: info }.",
  ).describe("Environment variables of the handler."),
  secretEnv: mapOf(
    variableName,
    secretKey,
    "Write, for example, secretEnv: { API_TOKEN: { secret: api, key: token } }.",
  ).describe("Environment variables of the handler that come from Secrets in the runner's namespace."),
  files: fields(
    {
      image: image.describe(
        "An image with the handler's files, pinned. `argosy files` writes what belongs into it.",
      ),
    },
    'Write, for example, { image: "registry.example.com/cache-files:1.0.0" }.',
  ).describe(
    "Where the handler's files come from in a cluster, if not from the folder: an image, which is mounted as a volume. " +
      "Needs Kubernetes 1.31 with the feature ImageVolume.",
  ),
  record: oneOf(["changes", "all", "failures"], "Leave it out for changes.").describe(
    "Which runs are recorded as Workflows. Not with execution: pod, where every run is one. Default: changes.",
  ),
};

const IN_PROGRAM = [
  "is no field of a definition",
  "Guards are of the program: new Operators(name, { guards: { children: true } }), or the key guards of the stack.",
] as const;

/** What an operator must say that it looks after. */
export const CRD_REMEDY =
  "Give the path of the CustomResourceDefinition in the operator's folder, for example crd: crd.yaml. Or give watch.";

/** What stands in an operator.yaml. */
export const DEFINITION = fields(
  {
    crd: text(CRD_REMEDY)
      .optional()
      .describe("Path of the CustomResourceDefinition's YAML, relative to the operator's folder."),
    watch: watch.optional(),
    handler: either([functionFile, handlerCommand], "a text or an object", HANDLER_REMEDY).describe(
      "A file that defines reconcile(request): main.py, main.js or main.ts. Or image and command of a program in any " +
        "language, which reads one line of JSON and writes one.",
    ),
    image: OVERRIDABLE.image.optional(),
    include: listOf(
      pattern(
        /^\.\.(\/[-\w]+(\.[-\w]+)*)+$/,
        "a folder beside the operator's own",
        "Write it from the operator's folder, for example include: [../shared].",
      ),
      "List folders beside the operator's own, for example [../shared], or leave it out.",
    )
      .optional()
      .describe(
        "Folders beside the operator's own that its handler uses: ../shared. They lie beside it in a cluster too, and functions " +
          "in Python import modules from them. What a function in JavaScript imports is bundled without.",
      ),
    children: listOf(
      either([childInShort, childKind], "a text or an object", CHILD_REMEDY),
      "List every kind that the handler may answer; [] where it answers none.",
    ).describe("Every kind of object that the handler may answer. An answer with another kind is refused."),
    uses: uses
      .default({})
      .describe(
        "Objects that the handler is shown besides, under these names in the request's used: Secrets, ConfigMaps and others " +
          "that the custom resource names, or that have labels.",
      ),
    name: NAME.optional().describe("The operator's name. Default: the name of its folder."),
    formerNames: listOf(
      formerName,
      "List the names that the operator had, for example [cache], or leave it out.",
    )
      .default([])
      .describe(
        "Names that this operator had before. What it left under them in a cluster is handed over to it. " +
          "cache is a name in the same installation, shop.cache one in the installation shop.",
      ),
    schedules: mapOf(
      pattern(
        /^[a-z]([-a-z0-9]{0,38}[a-z0-9])?$/,
        "the name of a schedule",
        'Use at most 40 lower-case letters, digits and "-", a letter first, for example nightly.',
      ),
      schedule,
      SCHEDULES_REMEDY,
    )
      .default({})
      .describe(
        "When the handler is asked with an instant that is due, by names: five fields of cron in a time zone. Default: none.",
      ),
    finalize: flag("Leave it out for false.")
      .default(false)
      .describe("Whether the handler is asked to clean up before an object goes. Default: false."),
    rules: listOf(rule, "List RBAC rules, or leave it out.")
      .default([])
      .describe(
        "Further RBAC rules, for a handler that calls the API itself. Only with them the handler gets a token.",
      ),
    grants: listOf(
      either([existingRole, rule], "a text or an object", GRANT_REMEDY),
      "List RBAC rules and roles, or leave it out.",
    )
      .default([])
      .describe(
        "What the Roles and bindings that the handler answers may grant: RBAC rules, and roles that are there " +
          "(ClusterRole/view). The runner holds exactly these rights, since Kubernetes lets nobody grant what they do not have.",
      ),
    on: OUTSIDE_EVENTS.default({}).describe(
      "Events from outside that become custom resources of the operator's kind, by their names.",
    ),
    execution: OVERRIDABLE.execution.default("resident"),
    concurrency: OVERRIDABLE.concurrency.optional(),
    timeoutSeconds: OVERRIDABLE.timeoutSeconds.default(30),
    resyncSeconds: OVERRIDABLE.resyncSeconds.default(600),
    namespaces: OVERRIDABLE.namespaces.default("all"),
    resources: OVERRIDABLE.resources.default({}),
    env: OVERRIDABLE.env.default({}),
    secretEnv: OVERRIDABLE.secretEnv.default({}),
    files: OVERRIDABLE.files.optional(),
    record: OVERRIDABLE.record.optional(),
  },
  "Write crd, handler and children.",
  { guards: IN_PROGRAM },
).superRefine((definition, context) => {
  const complain = complainIn(context);
  const { handler, image, env, secretEnv, execution } = definition;
  checkSubject(definition, complain);
  for (const name of Object.keys(env)) {
    if (!Object.hasOwn(secretEnv, name)) continue;
    complain(["secretEnv", name], "is in env as well", "Keep one of the two.", [`env.${name}`]);
  }
  if (image !== undefined && typeof handler !== "string") {
    complain(["image"], "is for a function", "Put it into handler, beside its command.");
  }
  if (execution === "pod") checkPod(definition, complain);
});

/** What an author writes in operator.yaml. */
export type OperatorDefinition = z.input<typeof DEFINITION>;

/** A definition that has been checked, with the defaults that depend on nothing else. */
export type CheckedDefinition = z.output<typeof DEFINITION>;

const IN_DEFINITION = ["cannot be overridden", "Write it in operator.yaml: all stacks share it."] as const;

/** What a program may give in the place of an operator's definition: in what stacks differ. */
export const OVERRIDES = fields(
  {
    image: OVERRIDABLE.image.optional(),
    execution: OVERRIDABLE.execution.optional(),
    concurrency: OVERRIDABLE.concurrency.optional(),
    timeoutSeconds: OVERRIDABLE.timeoutSeconds.optional(),
    resyncSeconds: OVERRIDABLE.resyncSeconds.optional(),
    namespaces: OVERRIDABLE.namespaces.optional(),
    resources: OVERRIDABLE.resources.optional(),
    env: OVERRIDABLE.env.optional(),
    secretEnv: OVERRIDABLE.secretEnv.optional(),
    files: OVERRIDABLE.files.optional(),
    record: OVERRIDABLE.record.optional(),
    replicas: integer(1, 5, "One leads, the others stand by: give 1 or 2.").optional(),
  },
  "Write, for example, { replicas: 1, env: { LOG_LEVEL: debug } }.",
  Object.fromEntries(
    [
      "crd",
      "watch",
      "handler",
      "include",
      "children",
      "uses",
      "name",
      "formerNames",
      "schedules",
      "finalize",
      "rules",
      "grants",
      "on",
    ].map((field) => [field, IN_DEFINITION]),
  ),
);

/** What a program says of one operator in the place of its operator.yaml. */
export type OperatorOverrides = z.input<typeof OVERRIDES>;

/** What the operator looks after: custom resources of its own, or objects of another kind. */
function checkSubject(
  {
    crd,
    watch,
    finalize,
    formerNames,
    on,
  }: {
    readonly crd?: string | undefined;
    readonly watch?: object | undefined;
    readonly finalize: boolean;
    readonly formerNames: readonly string[];
    readonly on: object;
  },
  complain: ReturnType<typeof complainIn>,
): void {
  // That both are missing is said with all other fields that are missing.
  if (!watch) return;
  if (crd !== undefined) {
    const remedy = "Keep crd for a kind of your own, or watch for one of somebody else's.";
    complain(["watch"], "is given beside crd", remedy);
  }
  if (finalize) {
    const complaint =
      "has no meaning with watch: nothing is written on objects of others, no finalizer either";
    complain(["finalize"], complaint, "Leave it out. Children are deleted with their object all the same.");
  }
  if (Object.keys(on).length > 0) {
    const complaint = "has no meaning with watch: events become custom resources of the operator's own kind";
    complain(["on"], complaint, "Give the events to an operator with a crd.");
  }
  for (const [index, former] of formerNames.entries()) {
    if (!former.includes(".")) continue;
    const complaint = `is ${quoted(former)}, of another installation, whose memories this operator may not read`;
    complain(["formerNames", index], complaint, "Leave it out. The operator then begins without a memory.");
  }
}

/** What a resident runner could do, and a pod for each run cannot. */
function checkPod(
  {
    record,
    resyncSeconds,
    env,
    handler,
  }: {
    readonly record?: string | undefined;
    readonly resyncSeconds: number;
    readonly env: Readonly<Record<string, string>>;
    readonly handler: string | { readonly command: readonly string[] };
  },
  complain: ReturnType<typeof complainIn>,
): void {
  const inPod = "with execution: pod";
  const because = ["execution"];
  if (record !== undefined) {
    complain(["record"], `has no meaning ${inPod}: every run is a Workflow`, "Leave it out.", because);
  }
  if (resyncSeconds < SHORTEST_POD_RESYNC) {
    complain(
      ["resyncSeconds"],
      `is ${resyncSeconds}, less than the minute that a CronWorkflow has for its shortest step`,
      `Give at least ${SHORTEST_POD_RESYNC}, or leave out execution: pod.`,
      because,
    );
  }
  const words = typeof handler === "string" ? [] : handler.command;
  const texts = [
    ...Object.entries(env).map(([name, value]) => ({ path: ["env", name], value })),
    ...words.map((value, index) => ({ path: ["handler", "command", index], value })),
  ];
  for (const { path, value } of texts) {
    if (!value.includes("{{")) continue;
    const complaint = `has "{{", which Argo Workflows would read as a variable of its own ${inPod}`;
    complain(path, complaint, "Put it into a file of the folder, or into a Secret for secretEnv.", because);
  }
}
