import { readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { bundleFunction, type FunctionBundle } from "../../../definition/bundleFunction";
import { Problems } from "../../../definition/problems";
import { languageOf, type Operator } from "../../../runtime/program";
import { type CarriedFile, carriedFiles } from "./carriedFiles";
import { contentHash } from "./contentHash";
import { plainText } from "./plainText";

/** Which key of a ConfigMap becomes which file of a volume: `items` of a ConfigMap volume. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

/** An author's files as the content of a ConfigMap. */
export interface HandlerFiles {
  /** Texts by key. */
  readonly data: Readonly<Record<string, string>>;
  /** Every file, in the order of the folder. */
  readonly items: readonly KeyToPath[];
  /** {@link contentHash} of the data. */
  readonly hash: string;
}

/**
 * What the values of a ConfigMap may have together, in bytes; its keys are not counted (`ValidateConfigMap` in
 * kubernetes, pkg/apis/core/validation/validation.go, and `MaxSecretSize` in pkg/apis/core/types.go).
 */
const MOST_BYTES = 1024 * 1024;
/** The longest key (`IsConfigMapKey` in apimachinery, pkg/util/validation/validation.go). */
const LONGEST_KEY = 253;

/**
 * Reads what lies in an operator's folder and its subfolders beside its definition, its CRD and its fixtures.
 * Hidden files, `__pycache__`, `node_modules` and editors' backups stay behind. A function in JavaScript or TypeScript is
 * carried as its bundle, without the sources that this was made of.
 *
 * @throws OperatorError naming every file that a ConfigMap cannot carry; also where there is too much or nothing
 */
export function handlerFiles({
  folder,
  crd,
  handler,
}: Pick<Operator, "folder" | "crd" | "handler">): HandlerFiles {
  const problems = new Problems();
  const bundle = bundleOf(folder, handler);
  const files = carriedFiles(folder, problems).flatMap((file) => carriedWith(bundle, file));
  const entries: [key: string, text: string][] = [];
  const items: KeyToPath[] = [];
  const kept: CarriedFile[] = [];
  for (const each of files) {
    const report = problems.in(path.join(folder, each.path));
    const key = keyOf(each.path);
    if (key.length > LONGEST_KEY) {
      report("the path", `has more than ${LONGEST_KEY} characters`, "Shorten it.");
      continue;
    }
    // One that is too large on its own is not worth reading: the sum tells.
    const tooLarge = each.bytes > MOST_BYTES;
    const text = tooLarge ? "" : each.path === bundle?.path ? bundle.code : readText(each, problems);
    if (text !== undefined && isCrd(each.path, text, crd)) continue;
    kept.push(each);
    items.push({ key, path: each.path });
    entries.push([key, text ?? ""]);
  }
  checkSize(folder, kept, problems);
  if (problems.found) throw problems.toError();
  const data = Object.fromEntries(entries);
  return { data, items, hash: contentHash(data) };
}

/** The bundle of a function in JavaScript, which is carried in the place of the file that the author wrote. */
interface Bundle extends FunctionBundle {
  readonly path: string;
}

function bundleOf(folder: string, handler: Operator["handler"]): Bundle | undefined {
  if ("command" in handler || languageOf(handler.function) === "python") return undefined;
  return { ...bundleFunction(folder, handler.function), path: path.posix.normalize(handler.function) };
}

/** The bundle has what its sources and packages have; of these, data alone may be read at run time as well. */
function carriedWith(bundle: Bundle | undefined, file: CarriedFile): CarriedFile[] {
  if (bundle === undefined) return [file];
  if (file.path === bundle.path) return [{ ...file, bytes: Buffer.byteLength(bundle.code) }];
  const isSource = /\.[cm]?[jt]sx?$/.test(file.path) && bundle.inputs.includes(realpathSync(file.file));
  return isSource || file.path === "package-lock.json" ? [] : [file];
}

/**
 * The key for a path: "lib/util.py" is "lib..util.py". No two paths share one, since no name of a carried file has
 * two dots in a row, or one at an end.
 */
export function keyOf(file: string): string {
  return file.replaceAll("/", "..");
}

function readText({ file }: CarriedFile, problems: Problems): string | undefined {
  const report = problems.in(file);
  try {
    return plainText(readFileSync(file), report);
  } catch (error) {
    report("it", `cannot be read: ${String(error)}`, "Give a file that can be read.");
    return undefined;
  }
}

/** An operator does not say which file its CRD came from: it is the one that says the same. */
function isCrd(file: string, text: string, crd: Operator["crd"]): boolean {
  if (!/\.(ya?ml|json)$/.test(file) || !text.includes("CustomResourceDefinition")) return false;
  try {
    return parseAllDocuments(text).some((document) => isDeepStrictEqual(document.toJS(), crd));
  } catch {
    // A template in YAML's clothing, say.
    return false;
  }
}

function checkSize(folder: string, files: readonly CarriedFile[], problems: Problems): void {
  const report = problems.in(folder);
  if (files.length === 0 && !problems.found) {
    report("the folder", "has no files for the handler", "Put those that its command runs there.");
  }
  const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (total <= MOST_BYTES) return;
  const largest = [...files].sort((one, other) => other.bytes - one.bytes).slice(0, 3);
  const named = largest.map((each) => `${each.path} (${each.bytes})`).join(", ");
  report(
    "the handler's files",
    `have ${total} bytes, more than the ${MOST_BYTES} of a ConfigMap; the largest: ${named}`,
    "Remove what the handler does not need, or put it into its image.",
  );
}
