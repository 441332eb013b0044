import { complainIn, fields, filledListOf, mapOf, pattern, text } from "../checks";
import { API_VERSION, IRREGULAR_PLURAL, KIND, labelName, namespaceName } from "./terms";

const USE_REMEDY =
  "Write, for example, credentials: { apiVersion: v1, kind: Secret, name: spec.credentialsSecret }.";
const TERM_REMEDY = `Give the path of a field, for example spec.credentialsSecret, or a constant in quotes: "'settings'".`;

const term = text(TERM_REMEDY);

/** The most uses, and the longest key. A larger number is a mistake, because each use is a watch of its own. */
const MOST_USES = 32;

const useKey = pattern(
  /^[a-z][A-Za-z0-9]{0,39}$/,
  "a name of letters and digits",
  "Begin with a lower-case letter, for example credentials: at most 40 letters and digits.",
);

const use = fields(
  {
    apiVersion: API_VERSION,
    kind: KIND,
    plural: IRREGULAR_PLURAL,
    name: term
      .optional()
      .describe(
        "The object's name: the path of a field of the custom resource (spec.credentialsSecret), or a constant in quotes " +
          "(\"'settings'\"). A path with [*] gives a list.",
      ),
    labels: mapOf(
      labelName("Name a label, for example app."),
      term,
      "Write, for example, labels: { app: metadata.name }.",
    )
      .optional()
      .describe("The labels of the objects. Each value is a path or a constant, like name. Gives a list."),
    namespace: namespaceName("shared")
      .optional()
      .describe(
        "The namespace of the objects, as a constant. Default: the namespace of the custom resource.",
      ),
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
    complain(["labels"], "is given together with name", "Keep one of the two.", []);
  if (name === undefined && labels === undefined)
    complain([], "has neither name nor labels", "Say which objects: name: spec.credentialsSecret.");
  if (labels !== undefined && Object.keys(labels).length === 0)
    complain(["labels"], "is empty, and would select every object of the kind", "Name a label.");
});

/** The objects that the handler gets in addition to its object and its children, by names. */
export const USES = mapOf(useKey, use, USE_REMEDY).superRefine((given, context) => {
  const count = Object.keys(given).length;
  if (count > MOST_USES)
    complainIn(context)(
      [],
      `has ${count} entries, more than ${MOST_USES}`,
      "Use fewer kinds, or select by labels.",
    );
});
