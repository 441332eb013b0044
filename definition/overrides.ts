// What a stack sets instead of a definition.
import type { OperatorDefinition, OperatorOverrides } from "./schema";

/** A definition with a program's overrides applied. */
export interface OverriddenDefinition {
  readonly definition: OperatorDefinition;
  /** The fields that the program gave: "namespaces", "env.LOG_LEVEL". */
  readonly overridden: readonly string[];
}

/**
 * Applies a program's overrides to a definition. Both have been checked by themselves, but not together.
 *
 * - Environment variables and quantities are replaced one by one, all other fields as a whole.
 * - A variable is replaced whether its value came from `env` or from a Secret.
 * - The image is that of the handler, which may be a function or a program.
 * - If `execution: pod` is given here, `concurrency` and `record` of the definition are those of a resident runner, and are left
 *   out.
 */
export function override(definition: OperatorDefinition, overrides: OperatorOverrides): OverriddenDefinition {
  const { env = {}, secretEnv = {}, resources = {}, image, replicas: _, ...others } = given(overrides);
  const { requests = {}, limits = {} } = resources;
  const { handler } = definition;
  const isProgram = typeof handler !== "string";
  return {
    definition: {
      ...(overrides.execution === "pod" ? withoutResident(definition) : definition),
      ...others,
      ...(image !== undefined && (isProgram ? { handler: { ...handler, image } } : { image })),
      env: { ...without(definition.env, secretEnv), ...env },
      secretEnv: { ...without(definition.secretEnv, env), ...secretEnv },
      resources: {
        ...definition.resources,
        ...(resources.requests && { requests: { ...definition.resources?.requests, ...requests } }),
        ...(resources.limits && { limits: { ...definition.resources?.limits, ...limits } }),
      },
    },
    overridden: [
      ...Object.keys(others),
      ...(image === undefined ? [] : [isProgram ? "handler.image" : "image"]),
      ...Object.keys(env).map((name) => `env.${name}`),
      ...Object.keys(secretEnv).map((name) => `secretEnv.${name}`),
      ...Object.keys(requests).map((name) => `resources.requests.${name}`),
      ...Object.keys(limits).map((name) => `resources.limits.${name}`),
    ],
  };
}

/** The same without the fields that only a resident runner has. */
function withoutResident({
  concurrency: _,
  record: __,
  ...definition
}: OperatorDefinition): OperatorDefinition {
  return definition;
}

/** The overrides without fields that are undefined. */
function given(overrides: OperatorOverrides): OperatorOverrides {
  return Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
}

/** The variables that are not replaced by others. */
function without<Value>(
  variables: Readonly<Record<string, Value>> = {},
  replaced: Readonly<Record<string, unknown>>,
): Record<string, Value> {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !Object.hasOwn(replaced, name)));
}
