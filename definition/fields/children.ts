import { kindOfKey } from "../../runtime/base/resource";
import type { ChildKind, ReadyRule } from "../../runtime/operator/definition";
import { complainIn, either, fields, filledListOf, flag, integer, oneOf, pattern, text } from "../checks";
import { API_VERSION, IRREGULAR_PLURAL, KIND } from "./terms";

const CHILD_REMEDY = "Write, for example, apps/v1/Deployment, or { apiVersion: apps/v1, kind: Deployment }.";

const childInShort = pattern(
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*\/[A-Z][A-Za-z0-9]*$/,
  "a group, a version and a kind",
  CHILD_REMEDY,
)
  .describe("Group, version and kind: apps/v1/Deployment, v1/Service.")
  .transform((child): ChildKind => kindOfKey(child));

const READY_REMEDY =
  "Write, for example, ready: { condition: Synced }, or { field: status.phase, in: [Bound] }.";
const VALUES_REMEDY = "List the values that mean ready, for example in: [Bound].";

/** When a child of a kind is ready. */
const READY = fields(
  {
    condition: pattern(
      /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/,
      "the type of a condition",
      READY_REMEDY,
    )
      .optional()
      .describe("The type of a condition in the child's status that must be True: Synced."),
    field: pattern(
      /^status(\.[A-Za-z0-9_-]+)+$/,
      "the path of a field in the status",
      "Write names with a dot between them, for example field: status.phase. A path cannot lead into a list.",
    )
      .optional()
      .describe("The path of a field in the child's status: status.phase."),
    in: filledListOf(
      either(
        [
          text(VALUES_REMEDY),
          integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER, VALUES_REMEDY),
          flag(VALUES_REMEDY),
        ],
        "a text, a whole number, true or false",
        VALUES_REMEDY,
      ),
      VALUES_REMEDY,
    )
      .optional()
      .describe("The values of the field that mean ready: [Bound]."),
  },
  READY_REMEDY,
)
  .superRefine(({ condition, field, in: values }, context) => {
    const complain = complainIn(context);
    if (condition !== undefined && field !== undefined)
      complain(["field"], "is given together with condition", "Keep one of the two.");
    else if (condition !== undefined && values !== undefined)
      complain(
        ["in"],
        "is given together with condition",
        "A condition counts when it is True: leave in out.",
      );
    else if (condition === undefined && field === undefined)
      complain([], "has neither condition nor field", READY_REMEDY);
    else if (field !== undefined && values === undefined) complain(["in"], "is missing", VALUES_REMEDY);
  })
  .transform((rule) => rule as ReadyRule);

const childKind = fields(
  {
    apiVersion: API_VERSION,
    kind: KIND,
    update: oneOf(["apply", "recreate", "never"], "Leave it out for apply.")
      .optional()
      .describe(
        "What happens if the handler returns other content for a child that exists. apply: server-side apply. recreate: " +
          "the same, but if a field cannot be changed, the child is deleted and created again. never: the child is created " +
          "once and then left alone. Default: apply.",
      ),
    ready: READY.optional().describe(
      "When a child of this kind is ready: a condition is True, or a field has one of these values. A missing condition or field " +
        "means not ready. Default: Kubernetes' own kinds by their status, and others by conditions that many kinds share, such as Ready.",
    ),
    plural: IRREGULAR_PLURAL,
    retired: flag("Set it for a kind that the handler no longer returns, or leave it out.")
      .optional()
      .describe(
        "The handler no longer returns this kind, but did so before. Remaining children of this kind are deleted. Default: " +
          "false.",
      ),
  },
  CHILD_REMEDY,
);

/** A kind that the handler may return. */
export const CHILD = either([childInShort, childKind], "a string or an object", CHILD_REMEDY);
