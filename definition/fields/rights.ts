import type { PolicyRule } from "../../runtime/operator/definition";
import { either, fields, filledListOf, listOf, pattern, quoted, text } from "../checks";
import { nearest } from "../nearest";

/** The API group of roles and of their bindings. */
export const RBAC_GROUP = "rbac.authorization.k8s.io";

const noWildcard = (value: string) => (value.includes("*") ? `is ${quoted(value)}, a wildcard` : undefined);
const WILDCARD_REMEDY = 'Name each one; "*" would allow more than was reviewed.';
const ruleEntry = text(WILDCARD_REMEDY, noWildcard);

/** Verbs with which an account can gain any other permission. */
const ESCALATING_VERBS = ["escalate", "bind", "impersonate"];

/** The verbs of Kubernetes' own kinds. The kinds of other software may have further verbs. */
const VERBS = [
  ...["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
  ...["use", "approve", "sign", "attest"],
];

function verbComplaint(verb: string): string | undefined {
  if (ESCALATING_VERBS.includes(verb))
    return `is ${quoted(verb)}, with which an account can gain every other right`;
  if (VERBS.includes(verb)) return undefined;
  // Two other letters make another word of a short one.
  const meant = nearest(verb, VERBS, verb.length > 4 ? 2 : 1);
  return meant === undefined ? noWildcard(verb) : `is ${quoted(verb)}, and probably means ${meant}`;
}

/** A rule of RBAC, without a wildcard and without verbs that escalate. */
export const RULE = fields(
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
      text("Name each verb that the handler needs, for example get.", verbComplaint),
      "Name the verbs, for example verbs: [get, list].",
    ).describe(
      "Verbs: get, list, create. No wildcard, and no verb with which an account can gain other rights.",
    ),
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
  .describe("An existing role that a binding may refer to: ClusterRole/view, Role/reader.")
  .transform((role): PolicyRule => {
    const [kind = "", name = ""] = role.split("/");
    return {
      apiGroups: [RBAC_GROUP],
      resources: [`${kind.toLowerCase()}s`],
      verbs: ["bind"],
      resourceNames: [name],
    };
  });

/** The rights that the roles in a handler's answers may grant. */
export const GRANT = either([existingRole, RULE], "a string or an object", GRANT_REMEDY);
