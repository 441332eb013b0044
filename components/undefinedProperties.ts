/**
 * Removes the properties of a component that are undefined. Reading such a property gives undefined as before. If a program
 * returns the whole component as its outputs, Pulumi would warn about each of them (sdk/nodejs/runtime/stack.ts, `massage`).
 */
export function leaveOutUndefined(component: object): void {
  const own = component as Record<string, unknown>;
  for (const name of Object.keys(own)) {
    // The names of Pulumi's own properties begin with "__".
    if (own[name] === undefined && !name.startsWith("__")) delete own[name];
  }
}
