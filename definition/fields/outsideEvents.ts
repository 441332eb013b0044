import { z } from "zod";
import { isRecord } from "../../runtime/base/json";
import { isDnsName, type JsonObject } from "../../runtime/base/objects";
import { constantOf, pathOf, stepsOf } from "../../runtime/operator/mapEvent";
import {
  anyObject,
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
} from "../checks";
import { aboutSource, SOURCE_TYPES } from "../eventSources";
import { namespaceName, SECRET_KEY, secretName } from "./terms";

/** The shortest time that an object of an event stays, in seconds. A bus may deliver the event again for this long. */
const SHORTEST_TTL = 86_400;
const LONGEST_TTL = 10 * 365 * 86_400;

/** The largest payload that an intake accepts, in bytes. */
const MOST_PAYLOAD = 2 ** 20;

const PATH_REMEDY = "Name a field of the event, for example body.comment.id or header.X-Event-Id[0].";
const fieldPath = text(PATH_REMEDY, (path) =>
  stepsOf(path) === undefined ? `is ${quoted(path)}, which is not a field path` : undefined,
);

const eventName = pattern(
  /^(?=.{1,40}$)[a-z]([-a-z0-9]*[a-z0-9])?$/,
  "a DNS label of at most 40 characters that begins with a letter",
  'Use at most 40 lower-case letters, digits and "-", for example deploy-command.',
);

const SECRET_REMEDY = "Write, for example, { name: github, key: secret }.";
const secretKey = fields(
  {
    name: secretName("a Secret in the operators' namespace"),
    key: SECRET_KEY,
  },
  SECRET_REMEDY,
);

const port = pattern(
  /^([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d{2}|655[0-2]\d|6553[0-5])$/,
  "a port",
  'Write it in quotes, as Argo does, for example port: "12000".',
);

const texts = mapOf(anyText("Quote it."), anyText("Quote it."), "Give strings, for example { team: shop }.");

/** Where Argo's event source listens (argo-events, pkg/apis/events/v1alpha1/webhook_context.go). */
const listener = {
  endpoint: pattern(
    /^\/[^\s{}?#]*$/,
    "a path",
    "Give the path that is called, for example endpoint: /deploy.",
  ),
  port,
  method: oneOf(["POST", "GET"], "Write method: POST."),
  url: text("Give the address from outside, for example https://hooks.example.com.").optional(),
  serverCertSecret: secretKey.optional(),
  serverKeySecret: secretKey.optional(),
  metadata: texts.optional(),
  maxPayloadSize: integer(1, MOST_PAYLOAD, "Leave it out for a mebibyte, which is the maximum.").optional(),
};

const WEBHOOK_REMEDY =
  'Write, for example, webhook: { endpoint: /deploy, method: POST, port: "12000", authSecret: { name: deploy, key: token } }.';
const FILTERED = [
  "drops events without any message if it fails",
  "Leave it out, and write when: next to the source.",
] as const;

const webhook = fields({ ...listener, authSecret: secretKey }, WEBHOOK_REMEDY, { filter: FILTERED });

const ownedRepositories = fields(
  {
    owner: text("Name the owner, for example octo-org."),
    names: filledListOf(text("Name a repository."), "Name repositories, for example [shop]."),
  },
  "Write, for example, { owner: octo-org, names: [shop] }.",
);

const GITHUB_REMEDY =
  'Write, for example, github: { webhook: { endpoint: /github, method: POST, port: "13000" }, repositories: [{ owner: octo-org, names: [shop] }], webhookSecret: { name: github, key: secret } }.';

const github = fields(
  {
    webhook: fields({ ...listener, authSecret: secretKey.optional() }, GITHUB_REMEDY),
    webhookSecret: secretKey,
    repositories: filledListOf(ownedRepositories, "List repositories, or organizations.").optional(),
    organizations: filledListOf(
      text("Name an organization."),
      "List organizations, or repositories.",
    ).optional(),
    events: listOf(
      text("Name an event of GitHub."),
      "List events of GitHub, for example [issue_comment].",
    ).optional(),
    apiToken: secretKey.optional(),
    githubApp: fields(
      {
        privateKey: secretKey,
        appID: integer(1, Number.MAX_SAFE_INTEGER, "Give the app's number."),
        installationID: integer(1, Number.MAX_SAFE_INTEGER, "Give the installation's number."),
      },
      "Give privateKey, appID and installationID.",
    ).optional(),
    insecure: flag("Leave it out for false.").optional(),
    active: flag("Write active: true, so that GitHub sends events.").optional(),
    contentType: oneOf(["json", "form"], "Write contentType: json.").optional(),
    githubBaseURL: text("Give the address of GitHub's API.").optional(),
    githubUploadURL: text("Give the address for uploads.").optional(),
    deleteHookOnFinish: flag("Leave it out for false.").optional(),
    metadata: texts.optional(),
  },
  GITHUB_REMEDY,
  { filter: FILTERED },
);

const REFUSED_SOURCES = {
  resource: [
    "needs rights in the cluster, and the event sources have none",
    "Write an operator for that kind: with crd, or with watch.",
  ],
} as const;

const otherSource = anyObject("Write it as in Argo's EventSource.");

const scalar = z.custom<string | number | boolean>(
  (value) => ["string", "number", "boolean"].includes(typeof value),
  { error: () => "is not a string, a number or a boolean\nGive a constant, or a list of constants." },
);

const SPEC_REMEDY =
  "Write, for example, spec: { repository: body.repository.full_name, kind: \"'comment'\" }: fields of the event, and constants in quotes.";

const specMapping = z.custom<JsonObject>(isRecord, { error: () => `is not an object\n${SPEC_REMEDY}` });

const namespaceOfEvents = namespaceName("deploys");

const namespace = either(
  [
    namespaceOfEvents,
    fields(
      {
        from: fieldPath.describe("The field of the event that names the namespace."),
        allowed: filledListOf(
          namespaceOfEvents,
          "List the namespaces, for example [team-a, team-b].",
        ).describe("The namespaces that the field may name. An event that names another one is refused."),
      },
      "Write, for example, { from: body.team, allowed: [team-a, team-b] }.",
    ),
  ],
  "a string or an object",
  "Name a namespace, or write { from: body.team, allowed: [team-a, team-b] }.",
);

const namespaceToWake = either(
  [
    namespaceOfEvents,
    fields(
      {
        from: fieldPath.describe("The field of the event that names the namespace."),
        allowed: filledListOf(namespaceOfEvents, "List the namespaces, for example [team-a, team-b].")
          .optional()
          .describe("The namespaces that the field may name. Default: all of the operator's."),
      },
      "Write, for example, { from: body.team }.",
    ),
  ],
  "a string or an object",
  "Name a namespace, or write { from: body.team }.",
);

const NAME_REMEDY =
  "Name the field that has the object's name, for example body.name, or write the name in single quotes.";
const nameToWake = text(NAME_REMEDY, (name) => {
  const constant = constantOf(name);
  if (constant === undefined)
    return stepsOf(name) ? undefined : `is ${quoted(name)}, which is not a field path`;
  return isDnsName(String(constant)) ? undefined : `is ${name}, which is not the name of an object`;
});

const outsideEvent = fields(
  {
    ...Object.fromEntries(
      SOURCE_TYPES.map((type) => [type, otherSource.optional().describe(aboutSource(type))]),
    ),
    webhook: webhook.optional().describe(`${aboutSource("webhook")} authSecret is required.`),
    github: github.optional().describe(`${aboutSource("github")} webhookSecret is required.`),
    id: filledListOf(
      fieldPath,
      "List the fields that distinguish this event from all others, for example [body.id].",
    )
      .optional()
      .describe(
        "Required with create. Fields of the event whose values together distinguish it from all others. Two events with the " +
          "same values are the same event.",
      ),
    when: mapOf(
      fieldPath,
      either(
        [scalar, filledListOf(scalar, "List constants.")],
        "a constant or a list",
        "Give a constant, or a list.",
      ),
      "Write, for example, when: { body.action: created }.",
    )
      .default({})
      .describe(
        "Conditions for events: each of these fields must have this value, or one of these values. Default: none, so that all events count.",
      ),
    create: fields(
      {
        kind: text("Name the kind of the operator's CRD.").describe("The kind of the operator's own CRD."),
        namespace: namespace
          .optional()
          .describe(
            "The namespace of the objects: a constant, or a field of the event and the namespaces that it may name.",
          ),
        spec: specMapping.describe(
          "The object's spec: fields of the event, and constants in single quotes. A field may be missing if a question " +
            "mark follows it.",
        ),
      },
      "Write kind, namespace and spec.",
    )
      .optional()
      .describe("The custom resource that is created from an event. An event has either create or wake."),
    wake: fields(
      {
        namespace: namespaceToWake
          .optional()
          .describe(
            "The namespace of the object: a constant, or a field of the event and the namespaces that it may name.",
          ),
        name: nameToWake.describe(
          "The field of the event that has the object's name, or the name in single quotes.",
        ),
      },
      "Write, for example, wake: { namespace: shop, name: body.name }.",
    )
      .optional()
      .describe(
        "The existing object that is reconciled because of an event. The event's content reaches no handler: the handler looks " +
          "at what the event is about. An event has either create or wake.",
      ),
    ttlSecondsAfterReady: integer(
      SHORTEST_TTL,
      LONGEST_TTL,
      "Give at least a day, 86400, or leave it out for ever.",
    )
      .optional()
      .describe(
        "How many seconds after becoming Ready an object of this event is deleted. At least 86400, because the bus may " +
          "deliver an event again for a day. Default: never.",
      ),
  },
  "Write a source, and create with id, or wake.",
  REFUSED_SOURCES,
).superRefine((event, context) => {
  const complain = complainIn(context);
  const sources = SOURCE_TYPES.filter((type) => (event as Record<string, unknown>)[type] !== undefined);
  if (sources.length === 0) complain([], "has no source", "Give one, for example webhook or github.");
  for (const type of sources.slice(1)) {
    complain([type], `is given together with ${sources[0]}`, "Give each source an event of its own.");
  }
  for (const type of sources) {
    const source = (event as Record<string, unknown>)[type];
    if (isRecord(source) && source["filter"] !== undefined) complain([type, "filter"], ...FILTERED);
  }
  if (event.github) checkGithub(event.github, complain);
  for (const [which, given] of [
    ["webhook", event.webhook],
    ["github", event.github?.webhook],
  ] as const) {
    if (given && (given.serverCertSecret === undefined) !== (given.serverKeySecret === undefined)) {
      const path = which === "webhook" ? ["webhook"] : ["github", "webhook"];
      complain(path, "has one of serverCertSecret and serverKeySecret", "Give both, or neither.");
    }
    if (given?.endpoint === "/health") {
      const path = which === "webhook" ? ["webhook", "endpoint"] : ["github", "webhook", "endpoint"];
      complain(path, "is /health, which Argo answers itself", "Give another path.");
    }
  }
  checkResult(event, complain);
});

type Complain = ReturnType<typeof complainIn>;

/** What becomes of an event: an object, or one is woken. */
function checkResult(
  {
    id,
    create,
    wake,
    ttlSecondsAfterReady,
  }: {
    readonly id?: readonly string[] | undefined;
    readonly create?: { readonly spec: JsonObject } | undefined;
    readonly wake?: object | undefined;
    readonly ttlSecondsAfterReady?: number | undefined;
  },
  complain: Complain,
): void {
  if (create) {
    if (wake) complain(["wake"], "is given together with create", "Give each an event of its own.");
    if (!id) complain(["id"], "is missing", "List the fields that distinguish this event from all others.");
    return checkTemplate(create.spec, ["create", "spec"], complain);
  }
  if (!wake)
    return complain([], "has neither create nor wake", "Write create to make an object of each event.");
  const because = "has no meaning with wake: an event that comes twice wakes the object twice";
  if (id) complain(["id"], because, "Leave it out.");
  if (ttlSecondsAfterReady !== undefined)
    complain(["ttlSecondsAfterReady"], "has no meaning with wake: it creates no object", "Leave it out.");
}

/** Checks the same as Argo's own validation (argo-events, pkg/eventsources/sources/github/validate.go). */
function checkGithub(
  {
    repositories,
    organizations,
    apiToken,
    githubApp,
    events = [],
    webhook,
    githubBaseURL,
    githubUploadURL,
  }: z.output<typeof github>,
  complain: Complain,
): void {
  if ((repositories === undefined) === (organizations === undefined)) {
    const complaint = repositories
      ? "has repositories and organizations"
      : "has neither repositories nor organizations";
    complain(["github"], complaint, "Give one of the two.");
  }
  if (apiToken || githubApp) {
    const needed = "Argo creates the hooks, because apiToken or githubApp is given";
    if (events.length === 0)
      complain(["github", "events"], `is missing or empty, and ${needed}`, "List the events.");
    if (webhook.url === undefined) {
      complain(["github", "webhook", "url"], `is missing, and ${needed}`, "Give the address from outside.");
    }
  }
  if ((githubBaseURL === undefined) !== (githubUploadURL === undefined)) {
    complain(["github"], "has one of githubBaseURL and githubUploadURL", "Give both, or neither.");
  }
}

/** The leaves of a mapping: constants and paths. */
function checkTemplate(template: unknown, path: readonly PropertyKey[], complain: Complain): void {
  if (Array.isArray(template)) {
    for (const [index, each] of template.entries()) checkTemplate(each, [...path, index], complain);
  } else if (isRecord(template)) {
    for (const [field, each] of Object.entries(template)) checkTemplate(each, [...path, field], complain);
  } else if (typeof template === "string") {
    if (constantOf(template) !== undefined) return;
    if (stepsOf(pathOf(template).path) !== undefined) return;
    complain(
      [...path],
      `is ${quoted(template)}, which is not a field path`,
      `Name a field of the event, or write a constant in quotes: "'${template.replaceAll("'", "")}'".`,
    );
  } else if (template === null || typeof template === "object") {
    complain([...path], "has no value", "Name a field of the event, or leave it out.");
  }
}

/** The content of `on` in an operator.yaml. */
export const OUTSIDE_EVENTS = mapOf(
  eventName,
  outsideEvent,
  "Write, for example, on: { deploy-command: { github: ..., id: [body.comment.id], create: ... } }.",
);
