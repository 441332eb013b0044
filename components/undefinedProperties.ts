/**
 * Takes away the properties of a component that are undefined. Reading one gives undefined as before. Where a program
 * returns the whole component as its outputs, Pulumi would warn of each of them (sdk/nodejs/runtime/stack.ts, `massage`).
 */
export function leaveOutUndefined(component: object): void {
  const own = component as Record<string, unknown>;
  for (const name of Object.keys(own)) {
    // Pulumi's own properties begin so.
    if (own[name] === undefined && !name.startsWith("__")) delete own[name];
  }
}
