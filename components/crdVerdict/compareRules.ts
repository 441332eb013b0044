import { isJsonObject, type JsonObject } from "../../runtime/program";
import { breaking, type CrdChange, type Place } from "./change";
import type { Schema } from "./schema";
import { loosened, show, tightened } from "./wording";

/** The rules in CEL, x-kubernetes-validations. Another rule is one that is gone and one that is new. */
export function compareRules(before: Schema, after: Schema, place: Place): CrdChange[] {
  const [old, now] = [rulesOf(before), rulesOf(after)];
  const added = [...now].filter(([key]) => !old.has(key));
  const removed = [...old].filter(([key]) => !now.has(key));
  return [
    ...removed.map(([, rule]) =>
      loosened(place, "validation-rule-removed", `The rule ${show(rule.rule)} was removed`),
    ),
    ...added.map(([, rule]) => ruleAdded(rule, place)),
  ];
}

function ruleAdded({ rule }: JsonObject, place: Place): CrdChange {
  const what = `The rule ${show(rule)} was added`;
  // It compares with the stored object, so that it concerns updates alone.
  if (/\boldSelf\b/.test(String(rule))) {
    return breaking(
      place,
      "validation-rule-added",
      `${what}: whoever makes a change that it forbids is refused; leave it out, or have the handler refuse such a change.`,
    );
  }
  return tightened(place, "validation-rule-added", what, "a value that breaks it");
}

/** By what decides: the expression, and whether it also holds for an object that is new. Its message does not. */
function rulesOf(schema: Schema): Map<string, JsonObject> {
  const rules = schema["x-kubernetes-validations"];
  const all = Array.isArray(rules) ? rules.filter(isJsonObject) : [];
  return new Map(all.map((rule) => [show([String(rule.rule).trim(), rule.optionalOldSelf === true]), rule]));
}
