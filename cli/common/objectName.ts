import type { ObjectName } from "../../runtime/base/objects";
import { UsageError } from "./commandError";
import { shellWord } from "./shellWord";

/** An object as the user wrote it: the word for its kind, and its name. */
export interface WrittenName {
  /** The kind, its plural, or either with its group, as `kubectl get` takes them. */
  readonly kind: string;
  readonly name: string;
}

/**
 * Reads KIND/NAME, for example "memcached/sessions".
 *
 * @param shown the argument in an error. Default: the text in quotes
 * @throws UsageError if the text has another form
 */
export function readObjectName(text: string, shown = `"${text}"`): WrittenName {
  const [kind = "", name = "", ...more] = text.split("/");
  if (kind !== "" && name !== "" && more.length === 0) return { kind, name };
  throw new UsageError(`${shown} does not name an object. Write KIND/NAME, for example memcached/sessions.`);
}

/**
 * An object as the user writes it behind the name of a command: "memcached/sessions --namespace shop". A Role, which an operator may
 * watch, may have a name that a shell would run.
 */
export function writtenAs(kind: string, { namespace, name }: ObjectName): string {
  return `${shellWord(`${kind.toLowerCase()}/${name}`)}${namespace ? ` --namespace ${namespace}` : ""}`;
}

/** @throws UsageError if one of the arguments is not KIND/NAME */
export function checkObjectNames(args: readonly string[]): void {
  for (const text of args) readObjectName(text);
}

/** The same for arguments that may name operators or runs as well: these have no slash. */
export function checkNames(args: readonly string[]): void {
  checkObjectNames(args.filter((text) => text.includes("/")));
}
