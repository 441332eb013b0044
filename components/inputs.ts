import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { placeholder, splitByPlaceholders } from "./manifests/placeholder";

/**
 * Values of Pulumi that are known later, in plain manifests. The builders of manifests take plain data, so that tests and
 * `render` need no Pulumi. So the builders get a placeholder for such a value, and {@link withInputs} replaces it in the finished
 * manifest. Only the fields with the value are then unknown or secret in a preview.
 */
const inputs = new Map<string, KnownLater>();

/** A value that is known later. */
interface KnownLater {
  readonly value: pulumi.Output<string>;
  /** The arguments that it is given for. */
  readonly given: string;
}

/** The arguments for which a program gives each value that is known later, and the component that they are arguments of. */
const given = new WeakMap<object, { readonly component: string; readonly paths: string[] }>();

/**
 * Remembers for which arguments the values that are known later are given, so that an error can name these arguments. A component
 * that passes its arguments on to another one is named alone.
 */
export function rememberInputs(component: string, value: unknown, path = ""): void {
  if (isInput(value)) {
    const known = given.get(value) ?? { component, paths: [] };
    given.set(value, known);
    if (known.component === component && !known.paths.includes(path)) known.paths.push(path);
  } else if (isPlain(value)) {
    for (const [key, each] of Object.entries(value)) {
      rememberInputs(component, each, path === "" ? key : `${path}.${key}`);
    }
  }
}

/** Whether a value is an object or a list without methods of its own. Components are not, and may contain themselves. */
function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  return [Object.prototype, Array.prototype, null].includes(Object.getPrototypeOf(value));
}

/** Whether a value is only known later: an Output or a Promise. */
export function isInput(value: unknown): value is pulumi.Output<unknown> | Promise<unknown> {
  return pulumi.Output.isInstance(value) || value instanceof Promise;
}

/** A schema of texts that also accepts a text that is known later. Such a text is not checked. */
export function later<Schema extends z.ZodType<string>>(schema: Schema) {
  return z.preprocess(
    (value) => (isInput(value) ? placeholderOf(value as pulumi.Input<string>) : value),
    schema,
  );
}

function placeholderOf(input: pulumi.Input<string>): string {
  const word = placeholder(inputs.size);
  const { component, paths } = given.get(input as object) ?? {
    component: "a component",
    paths: ["an argument"],
  };
  inputs.set(word, { value: pulumi.output(input), given: `${component}: ${paths.join(", ")}` });
  return word;
}

/** Whether a plain value contains a placeholder. */
export function hasPlaceholders(value: unknown): boolean {
  return withInputs(value) !== value;
}

/** The same value with each placeholder replaced by its value. An object without a placeholder stays the same object. */
export function withInputs(value: unknown): unknown {
  if (typeof value === "string") return withInputsInText(value);
  if (Array.isArray(value)) {
    const replaced = value.map(withInputs);
    return replaced.some((each, index) => each !== value[index]) ? replaced : value;
  }
  if (typeof value !== "object" || value === null || isInput(value)) return value;
  const entries = Object.entries(value).map(([key, each]) => [key, each, withInputs(each)] as const);
  if (entries.every(([, before, after]) => before === after)) return value;
  return Object.fromEntries(entries.map(([key, , after]) => [key, after]));
}

function withInputsInText(text: string): pulumi.Input<string> {
  const parts = splitByPlaceholders(text).map((part) => inputs.get(part) ?? part);
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) return typeof first === "string" ? first : first.value;
  return parts.length === 0 ? text : pulumi.all(parts.map(asPartOfText)).apply((texts) => texts.join(""));
}

/** A value that is known later may be inside YAML or an image's name. There it must be a plain word. */
const WORD = /^[A-Za-z0-9]([-A-Za-z0-9._:/@]*[A-Za-z0-9])?$/;

function asPartOfText(part: string | KnownLater): pulumi.Input<string> {
  if (typeof part === "string") return part;
  return part.value.apply((word) => {
    if (typeof word === "string" && WORD.test(word)) return word;
    throw new pulumi.RunError(
      `${part.given} is an Output that becomes part of a string, and its value is not one word of letters, digits and "-._:/@". Give the name, host or registry alone.`,
    );
  });
}
