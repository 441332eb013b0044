import { isRecord } from "../json/json";

/** A step of a path: a field's name, or the place of a list's entry. */
type Step = string | number;

const STEP = /\.?([A-Za-z_$@][A-Za-z0-9_$@-]*)|\[(\d{1,6})\]|\["((?:[^"\\]|\\.)*)"\]/y;

/** More steps than this have no meaning. */
const MOST_STEPS = 64;

/**
 * The steps of a field path: `body.comment.id`, `header.X-Event-Id[0]`, `body["a.b"]`.
 * @returns undefined if the text is not a path
 */
export function stepsOf(path: string): readonly Step[] | undefined {
  const steps: Step[] = [];
  STEP.lastIndex = 0;
  for (let at = 0; at < path.length; at = STEP.lastIndex) {
    // Before each field but the first there is a dot, and before a bracket there is none.
    if (path[at] !== "[" && (at === 0) === (path[at] === ".")) return undefined;
    STEP.lastIndex = at;
    const [, field, index, quoted] = STEP.exec(path) ?? [];
    if (field !== undefined) steps.push(field);
    else if (index !== undefined) steps.push(Number(index));
    else if (quoted !== undefined) steps.push(quoted.replace(/\\(.)/g, "$1"));
    else return undefined;
    if (steps.length > MOST_STEPS) return undefined;
  }
  return steps.length === 0 || typeof steps[0] === "number" ? undefined : steps;
}

/** The value at a path. Undefined if there is no value, or null. Inherited properties do not count. */
export function valueAt(value: unknown, path: string): unknown {
  let found: unknown = value;
  for (const step of stepsOf(path) ?? [""]) {
    if (typeof step === "number") found = Array.isArray(found) ? found[step] : undefined;
    else found = isRecord(found) && Object.hasOwn(found, step) ? found[step] : undefined;
  }
  return found ?? undefined;
}
