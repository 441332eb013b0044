import { kindOfKey } from "../../runtime/base/resource";
import type { ChildKind } from "../../runtime/operator/definition";
import { either, fields, flag, oneOf, pattern } from "../checks";
import { API_VERSION, IRREGULAR_PLURAL, KIND } from "./terms";

const CHILD_REMEDY = "Write, for example, apps/v1/Deployment, or { apiVersion: apps/v1, kind: Deployment }.";

const childInShort = pattern(
  /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?v[0-9][a-z0-9]*\/[A-Z][A-Za-z0-9]*$/,
  "a group, a version and a kind",
  CHILD_REMEDY,
)
  .describe("Group, version and kind: apps/v1/Deployment, v1/Service.")
  .transform((child): ChildKind => kindOfKey(child));

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
