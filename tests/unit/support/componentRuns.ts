import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { type Registration, type Run, type RunOptions, roleOf, run } from "./program";

/**
 * What Pulumi logs while something runs. As in Pulumi (sdk/nodejs/log/index.ts), messages come one after another, and one
 * about a resource comes when that is registered. If it never is, Pulumi delivers neither this message nor any later one.
 */
export async function logged(act: () => Promise<unknown>): Promise<string> {
  const lines: string[] = [];
  const { info, warn } = pulumi.log;
  let last: Promise<unknown> = Promise.resolve();
  const keep = (line: string, resource?: pulumi.Resource) => {
    const urn = resource?.urn as unknown as { promise(): Promise<string> } | undefined;
    last = Promise.all([last, urn?.promise()]).then(() => lines.push(line));
    return last.catch(() => lines.push(`failed to deliver: ${line}`));
  };
  Object.assign(pulumi.log, { info: keep, warn: keep });
  try {
    await act();
    await last.catch(() => {});
  } finally {
    Object.assign(pulumi.log, { info, warn });
  }
  return lines.join("\n");
}

/** The kind and the name of each manifest of a program. */
export function kinds({ manifests }: Run): string[] {
  return manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
}

/** The registration with this name. */
export function named({ registrations }: Run, name: string): Registration {
  const registration = registrations.find((each) => roleOf(each.name) === name);
  assert.ok(registration, `${name} is not registered`);
  return registration;
}

/** Checks that a program is refused with an error that Pulumi shows without a stack trace. */
export function refused(program: () => unknown, message: RegExp, options: RunOptions = {}): Promise<void> {
  return assert.rejects(run(program, options), (error) => {
    assert.ok(pulumi.RunError.isInstance(error), `not shown without a stack trace: ${error}`);
    assert.match(error.message, message);
    return true;
  });
}
