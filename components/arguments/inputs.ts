import * as pulumi from "@pulumi/pulumi";
import { z } from "zod";
import { check } from "../../definition/checks";
import { IMAGE } from "../../definition/fields/terms";
import { type KnownLater, thisRun } from "../inCluster/thisRun";
import { imagePlaceholder, placeholder, splitByPlaceholders } from "../manifests/placeholder";

/**
 * Values of Pulumi that are known later, in plain manifests. The builders of manifests take plain data, so that tests and
 * `render` need no Pulumi. So the builders get a placeholder for such a value, and {@link withInputs} replaces it in the finished
 * manifest. Only the fields with the value are then unknown or secret in a preview.
 */

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

/** A schema of texts that also accepts a text that is known later. Such a text is checked when it is known: see {@link whenKnown}. */
export function later<Schema extends z.ZodType<string>>(schema: Schema) {
  return z.preprocess((value) => (isInput(value) ? placeholderFor(value, schema) : value), schema);
}

/** The same for an image. One that is known later is a whole reference, and comes from no mirror. */
export function laterImage<Schema extends z.ZodType<string>>(schema: Schema) {
  return z.preprocess(asImage, schema);
}

/** A placeholder for an image that is known later. Any other value as it is. */
export function asImage(value: unknown): unknown {
  return isInput(value) ? placeholderFor(value, IMAGE, imagePlaceholder) : value;
}

/** A placeholder for a value that is known later, and has to be what a schema says. */
export function placeholderFor(input: object, schema: z.ZodType, wordOf = placeholder): string {
  const { later: known } = thisRun();
  const word = wordOf(known.size);
  const { component, paths } = given.get(input) ?? { component: "a component", paths: ["an argument"] };
  known.set(word, {
    value: input,
    schema,
    given: `${component}: ${paths.join(", ")}`,
  });
  return word;
}

/**
 * A value that is checked as soon as it is known.
 * @param argument what errors call it: `Operators "shop": replicas`
 * @throws RunError, in the Output, with what is wrong. The value itself is not in the message if it is secret
 */
function whenKnown<T>(schema: z.ZodType<T>, input: pulumi.Input<T>, argument: string): pulumi.Output<T> {
  const output = pulumi.output(input) as pulumi.Output<T>;
  return output.apply((value) => {
    const problems: (readonly [complaint: string, remedy: string])[] = [];
    check(schema, value, (_, complaint, remedy) => problems.push([complaint, remedy]));
    const [problem] = problems;
    return problem ? refuse(output, argument, ...problem) : value;
  }) as pulumi.Output<T>;
}

async function refuse(
  output: pulumi.Output<unknown>,
  argument: string,
  complaint: string,
  remedy: string,
): Promise<never> {
  const wrong = (await pulumi.isSecret(output)) ? "is wrong" : complaint;
  throw new pulumi.RunError(`${argument} is an Output, and its value ${wrong}. ${remedy}`);
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

function withInputsInText(text: string): pulumi.Input<unknown> {
  const parts = splitByPlaceholders(text).map((part) => thisRun().later.get(part) ?? part);
  const [first] = parts;
  if (parts.length === 1 && first !== undefined) {
    return typeof first === "string" ? first : whenKnown(first.schema, first.value, first.given);
  }
  return parts.length === 0 ? text : pulumi.all(parts.map(asPartOfText)).apply((texts) => texts.join(""));
}

/** A value that is known later may be inside YAML or an image's name. There it must be a plain word. */
const WORD = /^[A-Za-z0-9]([-A-Za-z0-9._:/@]*[A-Za-z0-9])?$/;

function asPartOfText(part: string | KnownLater): pulumi.Input<unknown> {
  if (typeof part === "string") return part;
  return pulumi.output(part.value as pulumi.Input<string>).apply((word) => {
    if (typeof word === "string" && WORD.test(word)) return whenKnown(part.schema, part.value, part.given);
    throw new pulumi.RunError(
      `${part.given} is an Output that becomes part of a string, and its value is not one word of letters, digits and "-._:/@". Give the name, host or registry alone.`,
    );
  });
}
