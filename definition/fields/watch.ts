import { WATCHED_PARTS } from "../../runtime/operator/definition";
import { fields, filledListOf, oneOf } from "../checks";
import { API_VERSION, IRREGULAR_PLURAL, KIND, labels, NAMESPACES } from "./terms";

const LABEL_REMEDY = 'Write, for example, labels: { notify: "true" }.';

const WATCH_REMEDY = "Write, for example, watch: { apiVersion: apps/v1, kind: Deployment }.";

/** Objects of a kind that another program owns. */
export const WATCH = fields(
  {
    apiVersion: API_VERSION,
    kind: KIND,
    plural: IRREGULAR_PLURAL,
    labels: labels(LABEL_REMEDY)
      .optional()
      .describe("Only objects with all of these labels. Default: every object of the kind."),
    namespaces: NAMESPACES.optional().describe(
      "The namespaces whose objects are watched. This is the same as the field namespaces of the definition. Default: all.",
    ),
    on: filledListOf(
      oneOf(WATCHED_PARTS, "Leave it out for all three."),
      "Leave it out for all three: [spec, status, labels].",
    )
      .optional()
      .describe(
        "Which parts of an object count as changed. spec: everything except metadata and status. labels: labels and " +
          "annotations. Default: all three.",
      ),
  },
  WATCH_REMEDY,
).describe(
  "Objects of a kind that is not the operator's own, instead of crd. The operator writes nothing on them, because it has " +
    "only the right to read them.",
);
