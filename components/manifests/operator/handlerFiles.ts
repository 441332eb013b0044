import { readdirSync, readFileSync, realpathSync, statSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { bundleFunction, type FunctionBundle } from "../../../definition/bundleFunction";
import { Problems, type Report } from "../../../definition/problems";
import { isRecord, languageOf, type Operator } from "../../../runtime/program";
import { contentHash } from "../configMaps";

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

/** A file of an operator's folder that goes along into the cluster. */
interface CarriedFile {
  /** Relative to the folder, with "/". */
  readonly path: string;
  /** Where it is on this machine. */
  readonly file: string;
  readonly bytes: number;
}

/** Left out wherever they are: hidden files, what tools leave behind, editors' backups. */
const LEFT_OUT = /^(\..*|__pycache__|node_modules|.*~|#.*#|.*\.(swp|bak))$/;
/** Left out at the top of the folder: what Argosy itself reads. */
const OWN = ["operator.yaml", "fixtures"];

/** A name of which a key of a ConfigMap can be made: see {@link keyOf}. */
const CARRIABLE = /^[-_a-zA-Z0-9]+(\.[-_a-zA-Z0-9]+)*$/;

/**
 * The files of a folder and its subfolders that a handler may use, in an order that is the same on every machine.
 * Symbolic links are followed within the folder.
 *
 * @param problems - is told of names that cannot be carried, and of links that lead out of the folder
 */
function carriedFiles(folder: string, problems: Problems): CarriedFile[] {
  const root = realpathSync(folder);
  const carried: CarriedFile[] = [];

  function visit(directory: string, prefix: string, above: readonly string[]): void {
    // Not by locale: the order is part of the manifest.
    for (const name of readdirSync(directory).sort()) {
      if (LEFT_OUT.test(name) || (prefix === "" && OWN.includes(name))) continue;
      const file = path.join(directory, name);
      const report = problems.in(path.join(folder, prefix, name));
      if (!CARRIABLE.test(name)) {
        const remedy = 'Rename it: letters, digits, "-", "_", and single dots between them.';
        report("the name", "cannot be made a key of a ConfigMap", remedy);
        continue;
      }
      try {
        const target = realpathSync(file);
        const stats = statSync(target);
        if (!`${target}${path.sep}`.startsWith(root + path.sep)) {
          report("the symbolic link", "leads out of the operator's folder", "Put the file itself there.");
        } else if (above.includes(target)) {
          report("the symbolic link", "leads to a folder that it is in", "Remove it.");
        } else if (stats.isDirectory()) {
          visit(file, `${prefix}${name}/`, [...above, target]);
        } else if (stats.isFile()) {
          carried.push({ path: prefix + name, file, bytes: stats.size });
        } else {
          report("it", "is neither a file nor a folder", "Remove it.");
        }
      } catch (error) {
        const code = isRecord(error) ? String(error.code) : String(error);
        if (code === "ENOENT") report("the symbolic link", "leads nowhere", "Remove it, or mend it.");
        else report("it", `cannot be read: ${code}`, "Give what can be read.");
      }
    }
  }

  visit(folder, "", [root]);
  return carried;
}

const REMEDY = "A ConfigMap carries text: put binary files into the handler's image.";

/**
 * A file's content as text.
 * @returns undefined where it is none, which has been reported with the offset of the first byte that is wrong
 */
function plainText(bytes: Uint8Array, report: Report): string | undefined {
  const zero = bytes.indexOf(0);
  if (zero >= 0) {
    report(`byte ${zero}`, "is zero, which no text has", REMEDY);
    return undefined;
  }
  try {
    return decoder().decode(bytes);
  } catch {
    report(`byte ${firstInvalid(bytes)}`, "is not UTF-8", REMEDY);
    return undefined;
  }
}

/** A byte order mark is part of the file, and stays. */
function decoder() {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
}

/** The decoder does not tell where it failed: the shortest beginning that it refuses ends there. */
function firstInvalid(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length + 1;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isBeginningOfText(bytes.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  // Where every beginning is one of a text, the last character is cut off.
  return Math.min(valid, bytes.length - 1);
}

function isBeginningOfText(bytes: Uint8Array): boolean {
  try {
    decoder().decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
