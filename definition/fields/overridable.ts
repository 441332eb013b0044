import { FUNCTION_IMAGES } from "../../runtime/operator/definition";
import { anyText, complainIn, fields, flag, integer, mapOf, oneOf, pattern } from "../checks";
import { EGRESS } from "./egress";
import { IMAGE, NAMESPACES, RESOURCE, SECRET_KEY, secretName } from "./terms";

const quantities = mapOf(
  RESOURCE,
  pattern(
    /^[0-9]+(\.[0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/,
    "a quantity",
    'Write it as a string, for example memory: 128Mi or cpu: "1".',
  ),
  "Write, for example, { cpu: 100m, memory: 128Mi }.",
).optional();

const variableName = pattern(
  /^[A-Za-z_][A-Za-z0-9_]*$/,
  "the name of an environment variable",
  "Use letters, digits and _, and do not begin with a digit.",
);

const secretKey = fields(
  {
    secret: secretName("the Secret in the operators' namespace").describe(
      "The name of the Secret, in the operators' namespace.",
    ),
    key: SECRET_KEY.describe("The key in that Secret."),
  },
  "Write, for example, { secret: api, key: token }.",
).describe("A key of a Secret in the operators' namespace.");

/** The most bytes of a variable with its name: `MAX_ARG_STRLEN` of Linux (include/uapi/linux/binfmts.h). */
const MOST_BYTES = 128 * 1024;

function checkVariables(
  env: Readonly<Record<string, string>>,
  complain: ReturnType<typeof complainIn>,
): void {
  for (const [name, value] of Object.entries(env)) {
    // The text ends with a zero byte.
    if (Buffer.byteLength(`${name}=${value}`) < MOST_BYTES) continue;
    const complaint = `has ${Buffer.byteLength(value)} bytes, and Linux starts no process with such a variable`;
    complain([name], complaint, "Put it into a file next to the handler.");
  }
}

/** The fields that a definition may leave out, and that a program's overrides may replace. */
export const OVERRIDABLE = {
  image: IMAGE.describe(
    `The image of a function, pinned. Default: ${FUNCTION_IMAGES.python} for Python, ${FUNCTION_IMAGES.javascript} for ` +
      "JavaScript and TypeScript.",
  ),
  execution: oneOf(["resident", "pod"], "Leave it out for resident.").describe(
    "Where the handler runs. resident: in a runner that always exists. pod: in a pod of its own for each run. Default: resident.",
  ),
  concurrency: integer(1, 128, "Leave it out for 64, or 32 with execution: pod.").describe(
    "For how many objects the handler is asked at the same time, 1 to 128. With execution: pod, how many runs have a pod " +
      "at the same time; the others wait without a pod. Default: 64, and 32 with execution: pod.",
  ),
  timeoutSeconds: integer(1, 3600, "Leave it out for 30.").describe(
    "How many seconds the handler may take for an answer, 1 to 3600. After that, its processes are killed. Default: 30.",
  ),
  resyncSeconds: integer(10, 86400, "Leave it out for 600.").describe(
    "Every object is looked at this often, in seconds, 10 to 86400, and reconciled. With execution: pod it gets a run if it " +
      "needs one. Default: 600.",
  ),
  namespaces: NAMESPACES.describe("The namespaces whose objects are handled. Default: all."),
  resources: fields(
    {
      requests: quantities.describe(
        "The resources that are reserved for the container: cpu: 100m, memory: 64Mi.",
      ),
      limits: quantities.describe("The resources that the container must not exceed: memory: 128Mi."),
    },
    "Write, for example, { limits: { memory: 128Mi } }.",
  ).describe("Requests and limits of the handler's container, in Kubernetes quantities."),
  env: mapOf(
    variableName,
    anyText("A variable is a string, for example LOG_LEVEL: info."),
    "Write, for example, env: { LOG_LEVEL: info }.",
  )
    .superRefine((env, context) => checkVariables(env, complainIn(context)))
    .describe("Environment variables of the handler."),
  secretEnv: mapOf(
    variableName,
    secretKey,
    "Write, for example, secretEnv: { API_TOKEN: { secret: api, key: token } }.",
  ).describe("Environment variables of the handler that come from Secrets in the operators' namespace."),
  egress: EGRESS.describe(
    "Where the pods of the handler may connect to, in addition to DNS and the API server: ranges of addresses, and pods of a namespace, " +
      "each with ports. Becomes a NetworkPolicy, which knows no names of hosts. An empty list: nowhere else. Default: anywhere.",
  ),
  files: fields(
    {
      image: IMAGE.describe(
        "An image with the handler's files, pinned. `argosy files` writes the files that belong into the image.",
      ),
    },
    'Write, for example, { image: "registry.example.com/cache-files:1.0.0" }.',
  ).describe(
    "The source of the handler's files in a cluster, if it is not the folder: an image, which is mounted as a volume. " +
      "Needs Kubernetes 1.35, or 1.34 with the feature gate ImageVolume.",
  ),
  rollout: fields(
    {
      first: pattern(/^([1-9][0-9]?|100)%$/, "a share of 1% to 100%", "Write, for example, first: 5%.")
        .default("5%")
        .describe(
          "The share of the objects that a new version is asked about first, 1% to 100%. There is at least one of them. " +
            "Default: 5%.",
        ),
      pauseSeconds: integer(0, 86400, "Leave it out for 60.")
        .default(60)
        .describe(
          "How long these objects are watched before the others follow, in seconds, 0 to 86400. Those that were Ready must " +
            "be Ready again by then. Default: 60.",
        ),
      haltAfterFailures: integer(1, 1000, "Leave it out for 3.")
        .default(3)
        .describe(
          "The roll-out halts if this many objects fail that did not fail before, 1 to 1000, or all of the first. Default: 3.",
        ),
      haltOnDeletions: flag("Leave it out for true.")
        .default(true)
        .describe(
          "Whether the roll-out halts if the new version no longer returns a child of an object that has not changed. " +
            "That child is not deleted. Default: true.",
        ),
    },
    "Write, for example, rollout: { first: 5%, pauseSeconds: 60 }.",
  ).describe(
    "A new version of the operator is rolled out in stages, and halts if it does harm. Default: it is asked about every object at once.",
  ),
  record: oneOf(["changes", "all", "failures"], "Leave it out for changes.").describe(
    "Which runs are recorded as Workflows. Not allowed with execution: pod, because there every run is a Workflow. " +
      "Default: changes.",
  ),
  userRoles: flag("Leave it out for false.").describe(
    "Whether users with Kubernetes' role view, edit or admin may read or write the custom resources, in the same places. " +
      "Not allowed with watch. Default: false.",
  ),
};
