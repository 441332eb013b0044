// Every field of operator.yaml and of overrides, in zod. Begin here.
import type { z } from "zod";
import { complainIn, fields, flag, integer, listOf, oneOf, pattern, quoted, text } from "./checks";
import { CHILD } from "./fields/children";
import { HANDLER } from "./fields/handler";
import { FORMER_NAME, NAME } from "./fields/identity";
import { OUTSIDE_EVENTS } from "./fields/outsideEvents";
import { OVERRIDABLE } from "./fields/overridable";
import { GRANT, RULE } from "./fields/rights";
import { SCHEDULES } from "./fields/schedules";
import { USES } from "./fields/uses";
import { WATCH } from "./fields/watch";

const IN_PROGRAM = [
  "is not a field of a definition",
  "Guards belong to the program: new Operators(name, { guards: { children: true } }), or the key guards of the stack.",
] as const;

/** An operator must give either of these: its own kind, or a watched kind. */
export const CRD_REMEDY =
  "Give the path of the CustomResourceDefinition in the operator's folder, for example crd: crd.yaml. Or give watch.";

/** The content of an operator.yaml. */
export const DEFINITION = fields(
  {
    crd: text(CRD_REMEDY)
      .optional()
      .describe("The path of the CustomResourceDefinition's YAML file, relative to the operator's folder."),
    watch: WATCH.optional(),
    handler: HANDLER,
    image: OVERRIDABLE.image.optional(),
    include: listOf(
      pattern(
        /^\.\.(\/[-\w]+(\.[-\w]+)*)+$/,
        "a folder next to the operator's own",
        "Write it from the operator's folder, for example include: [../shared].",
      ),
      "List folders next to the operator's own, for example [../shared], or leave it out.",
    )
      .optional()
      .describe(
        "Folders next to the operator's own that its handler uses, for example ../shared. They are next to it in a cluster " +
          "too, and functions in Python can import modules from them. Imports of functions in JavaScript are bundled, and " +
          "need no entry here.",
      ),
    children: listOf(
      CHILD,
      "List every kind that the handler may return, or [] if it returns none.",
    ).describe("Every kind of object that the handler may return. An answer with another kind is refused."),
    uses: USES.default({}).describe(
      "Further objects that the handler gets, under these names in the field used of the request: Secrets, ConfigMaps and " +
        "others that the custom resource names, or that have certain labels.",
    ),
    name: NAME.optional().describe("The operator's name. Default: the name of its folder."),
    formerNames: listOf(
      FORMER_NAME,
      "List the names that the operator had, for example [cache], or leave it out.",
    )
      .default([])
      .describe(
        "Names that this operator had before. It takes over everything in a cluster that it owned under these names. cache " +
          "is a name in the same installation, and shop.cache is a name in the installation shop.",
      ),
    schedules: SCHEDULES.default({}).describe(
      "Schedules by name. When one is due, the handler is asked and gets the time that was due. A schedule has the five " +
        "fields of cron and a time zone. Default: none.",
    ),
    finalize: flag("Leave it out for false.")
      .default(false)
      .describe("Whether the handler is asked to clean up before an object is removed. Default: false."),
    ask: oneOf(["always", "changed"], "Leave it out for always.")
      .default("always")
      .describe(
        "changed: the handler promises that its answer follows from the request alone, not from the clock or anything " +
          "outside, and is not asked in a resync or after a restart if nothing in the request has changed. argosy test " +
          "checks the promise. With execution: pod it has no effect. Default: always.",
      ),
    rules: listOf(RULE, "List RBAC rules, or leave it out.")
      .default([])
      .describe(
        "Further RBAC rules, for a handler that calls the API itself. The handler gets a token only if there are rules.",
      ),
    grants: listOf(GRANT, "List RBAC rules and roles, or leave it out.")
      .default([])
      .describe(
        "The rights that Roles and bindings in the handler's answers may grant: RBAC rules, and existing roles " +
          "(ClusterRole/view). The runner gets exactly these rights, because Kubernetes lets no account grant rights that it " +
          "does not have.",
      ),
    on: OUTSIDE_EVENTS.default({}).describe(
      "Events from outside that become custom resources of the operator's kind, or wake existing objects, by their names.",
    ),
    execution: OVERRIDABLE.execution.default("resident"),
    concurrency: OVERRIDABLE.concurrency.optional(),
    timeoutSeconds: OVERRIDABLE.timeoutSeconds.default(30),
    resyncSeconds: OVERRIDABLE.resyncSeconds.default(600),
    namespaces: OVERRIDABLE.namespaces.default("all"),
    resources: OVERRIDABLE.resources.default({}),
    env: OVERRIDABLE.env.default({}),
    secretEnv: OVERRIDABLE.secretEnv.default({}),
    egress: OVERRIDABLE.egress.optional(),
    files: OVERRIDABLE.files.optional(),
    record: OVERRIDABLE.record.optional(),
    userRoles: OVERRIDABLE.userRoles.default(false),
    rollout: OVERRIDABLE.rollout.optional(),
  },
  "Write crd, handler and children.",
  { guards: IN_PROGRAM },
).superRefine((definition, context) => {
  const complain = complainIn(context);
  const { handler, image, env, secretEnv, execution, ask, rules } = definition;
  checkSubject(definition, complain);
  for (const name of Object.keys(env)) {
    if (!Object.hasOwn(secretEnv, name)) continue;
    complain(["secretEnv", name], "is in env as well", "Keep one of the two.", [`env.${name}`]);
  }
  if (image !== undefined && typeof handler !== "string") {
    complain(["image"], "is for a function", "Give the image in handler, together with command.");
  }
  if (execution === "pod") checkPod(definition, complain);
  if (ask === "changed" && rules.length > 0) {
    const complaint = "is changed, but a handler with rules asks the API server itself";
    complain(
      ["ask"],
      complaint,
      "Leave ask out, or let uses give the objects to the handler, without rules.",
    );
  }
  const [waking] = Object.entries(definition.on).filter(([, { wake }]) => wake);
  if (ask === "changed" && waking) {
    const complaint = `is changed, but the event ${waking[0]} wakes objects for what no request shows`;
    complain(["ask"], complaint, "Leave ask out.", [`on.${waking[0]}`]);
  }
});

/** The content of an operator.yaml, as an author writes it. */
export type OperatorDefinition = z.input<typeof DEFINITION>;

/** A definition that has been checked, with those defaults that do not depend on other values. */
export type CheckedDefinition = z.output<typeof DEFINITION>;

const IN_DEFINITION = ["cannot be overridden", "Write it in operator.yaml: all stacks share it."] as const;

/** The fields that a program may set instead of an operator's definition, because stacks differ in them. */
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
    egress: OVERRIDABLE.egress.optional(),
    files: OVERRIDABLE.files.optional(),
    record: OVERRIDABLE.record.optional(),
    userRoles: OVERRIDABLE.userRoles.optional(),
    rollout: OVERRIDABLE.rollout.optional(),
    replicas: integer(1, 5, "One leads, the others stand by: give 1 or 2.")
      .optional()
      .describe("The number of runners of this operator, 1 to 5. One leads, the others stand by."),
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
      "ask",
      "rules",
      "grants",
      "on",
    ].map((field) => [field, IN_DEFINITION]),
  ),
);

/** The overrides of one operator. */
export type OperatorOverrides = z.input<typeof OVERRIDES>;

/** Checks which objects the operator handles: custom resources of its own kind, or objects of another kind. */
function checkSubject(
  {
    crd,
    watch,
    finalize,
    formerNames,
    on,
    userRoles,
  }: {
    readonly crd?: string | undefined;
    readonly watch?: object | undefined;
    readonly finalize: boolean;
    readonly formerNames: readonly string[];
    readonly on: Readonly<Record<string, { readonly create?: object | undefined }>>;
    readonly userRoles: boolean;
  },
  complain: ReturnType<typeof complainIn>,
): void {
  // If both are missing, the report about missing fields says so.
  if (!watch) return;
  if (crd !== undefined) {
    const remedy = "Keep crd for a kind of your own, or watch for a kind of another program.";
    complain(["watch"], "is given together with crd", remedy);
  }
  if (finalize) {
    const complaint =
      "has no meaning with watch: nothing is written on objects of others, not even a finalizer";
    complain(["finalize"], complaint, "Leave it out. Children are deleted with their object anyway.");
  }
  for (const [name, { create }] of Object.entries(on)) {
    if (!create) continue;
    const complaint = "has no meaning with watch: only their owners create such objects";
    complain(["on", name, "create"], complaint, "Write wake, or give the event to an operator with a crd.");
  }
  if (userRoles) {
    const complaint = "has no meaning with watch: the kind belongs to others, and so do its roles";
    complain(["userRoles"], complaint, "Leave it out.");
  }
  for (const [index, former] of formerNames.entries()) {
    if (!former.includes(".")) continue;
    const complaint = `is ${quoted(former)}, a name in another installation, whose memories this operator may not read`;
    complain(["formerNames", index], complaint, "Leave it out. The operator then begins without a memory.");
  }
}

/** Checks the fields that only a resident operator can have. */
function checkPod(
  {
    record,
    env,
    handler,
  }: {
    readonly record?: string | undefined;
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
