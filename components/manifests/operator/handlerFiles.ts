import { readFileSync, realpathSync } from "node:fs";
import path from "node:path";
import { isDeepStrictEqual } from "node:util";
import { parseAllDocuments } from "yaml";
import { bundleFunction, type FunctionBundle } from "../../../definition/bundleFunction";
import { languageOf, workingFolderOf } from "../../../definition/handlerProgram";
import { Problems } from "../../../definition/problems";
import type { Operator } from "../../../runtime/program";
import { type CarriedFile, carriedFiles, type Destination } from "./carriedFiles";

/** Which key of a ConfigMap becomes which file of a volume: `items` of a ConfigMap volume. */
export interface KeyToPath {
  readonly key: string;
  readonly path: string;
}

/** An author's files, or a part of them, as the content of a ConfigMap. */
export interface HandlerFiles {
  /** Texts by key. */
  readonly data: Readonly<Record<string, string>>;
  /** Other files than texts, by key, in base64. */
  readonly binaryData: Readonly<Record<string, string>>;
  /** Every file, in the order of the folder. */
  readonly items: readonly KeyToPath[];
}

/** A file as the handler finds it. */
export interface HandlerFile {
  /** Relative to the folder that is mounted, with "/". */
  readonly path: string;
  readonly content: Buffer;
}

/**
 * The most that the values of a ConfigMap may have together, in bytes. Its keys are not counted (`ValidateConfigMap` in
 * kubernetes, pkg/apis/core/validation/validation.go, and `MaxSecretSize` in pkg/apis/core/types.go).
 */
const MOST_BYTES = 1024 * 1024;
/** The most ConfigMaps for one operator. The stack's state and each preview contain them as well. */
const MOST_CONFIG_MAPS = 8;
/** The longest key (`IsConfigMapKey` in apimachinery, pkg/util/validation/validation.go). */
const LONGEST_KEY = 253;

const SIZE_REMEDY =
  "Remove what the handler does not need, or put its files into an image: files: { image: ... }.";

type Source = Pick<Operator, "folder" | "include" | "crd" | "handler">;

/**
 * Reads the files in an operator's folder and its subfolders, except its definition, its CRD and its fixtures, and the files in
 * the folders that it includes. Hidden files, `__pycache__`, `node_modules` and editors' backups are left out. A function in
 * JavaScript or TypeScript is deployed as its bundle, without the sources of the bundle.
 *
 * @returns the content of as many ConfigMaps as are needed: none for a program that is in its image
 * @throws OperatorError naming every file that a ConfigMap cannot hold; also if there are too many files
 */
export function handlerFiles(operator: Source): HandlerFiles[] {
  const problems = new Problems();
  const files = filesFor("configMaps", operator, problems);
  checkSize(operator.folder, files, problems);
  for (const file of files) {
    if (dataKeyOf(file.path).length <= LONGEST_KEY) continue;
    const report = problems.in(path.join(operator.folder, file.path));
    report("the path", `has more than ${LONGEST_KEY} characters`, "Shorten it.");
  }
  if (problems.found) throw problems.toError();
  return packed(files).map(toConfigMap);
}

/**
 * The same files for an image, which may hold more of them, larger ones, and compiled code.
 * @throws OperatorError naming every file that cannot be read
 */
export function imageFiles(operator: Source): HandlerFile[] {
  const problems = new Problems();
  const files = filesFor("image", operator, problems);
  if (problems.found) throw problems.toError();
  return files;
}

function filesFor(destination: Destination, operator: Source, problems: Problems): HandlerFile[] {
  const { folder, include = [], crd, handler } = operator;
  const bundle = bundleOf(folder, handler);
  const own = carriedFiles(folder, destination, problems);
  const included = include.flatMap((place) =>
    carriedFiles(path.join(folder, place), destination, problems, place),
  );
  const found = [...own, ...included].flatMap((file) => withBundle(file, bundle));
  const tooMuch = found.reduce((sum, { bytes }) => sum + bytes, 0) > MOST_CONFIG_MAPS * MOST_BYTES;
  const files = found.flatMap((file) => {
    // The size of what is too large tells enough.
    const isCounted = tooMuch && destination === "configMaps" && file.bytes > MOST_BYTES;
    const content = file.content ?? (isCounted ? Buffer.alloc(file.bytes) : read(file, problems));
    return content && !isCrd(file.path, content, crd) ? [{ path: file.path, content }] : [];
  });
  const root = workingFolderOf(operator);
  return files.map((file) => ({ ...file, path: path.posix.join(root, file.path) }));
}

/** The bundle of a function in JavaScript, which is deployed instead of the file that the author wrote. */
interface Bundle extends FunctionBundle {
  readonly path: string;
}

function bundleOf(folder: string, handler: Operator["handler"]): Bundle | undefined {
  if ("command" in handler || languageOf(handler.function) === "python") return undefined;
  return { ...bundleFunction(folder, handler.function), path: path.posix.normalize(handler.function) };
}

/** The bundle contains the function's sources and packages. Of these, only data files may be read at run time as well. */
function withBundle(
  file: CarriedFile,
  bundle: Bundle | undefined,
): (CarriedFile & { readonly content?: Buffer })[] {
  if (bundle === undefined) return [file];
  if (file.path === bundle.path) {
    return partsOf(Buffer.from(bundle.code)).map((content, index) => ({
      // The loop around functions puts the parts together: runtime/handler/functions/function.js.
      path: index === 0 ? file.path : `${file.path}.part${index + 1}`,
      file: file.file,
      bytes: content.length,
      content,
    }));
  }
  const isSource = /\.[cm]?[jt]sx?$/.test(file.path) && bundle.inputs.includes(realpathSync(file.file));
  const isOfNoUse = file.path === "package-lock.json" || /\.d\.[cm]?ts$/.test(file.path);
  return isSource || isOfNoUse ? [] : [file];
}

/** Parts of a text that each fit into a ConfigMap, and are whole texts themselves. */
function partsOf(text: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let from = 0; from < text.length || from === 0; ) {
    let to = Math.min(from + MOST_BYTES, text.length);
    // Not within a character, whose further bytes begin with the bits 10.
    while (to < text.length && ((text[to] ?? 0) & 0xc0) === 0x80) to--;
    parts.push(text.subarray(from, to));
    if (to === text.length) break;
    from = to;
  }
  return parts;
}

/**
 * The key for a path: "lib/util.py" is "lib..util.py". No two paths share a key, since no name of a deployed file has two dots in
 * a row, or a dot at an end.
 */
export function dataKeyOf(file: string): string {
  return file.replaceAll("/", "..");
}

function read({ file }: CarriedFile, problems: Problems): Buffer | undefined {
  try {
    return readFileSync(file);
  } catch (error) {
    problems.in(file)("the file", `cannot be read: ${String(error)}`, "Make it readable for you.");
    return undefined;
  }
}

/**
 * Whether a file is the operator's CRD. An operator does not name the file of its CRD, so it is the file with the same content.
 */
function isCrd(file: string, content: Buffer, crd: Operator["crd"]): boolean {
  if (!/\.(ya?ml|json)$/.test(file) || !content.includes("CustomResourceDefinition")) return false;
  try {
    return parseAllDocuments(content.toString()).some((document) => isDeepStrictEqual(document.toJS(), crd));
  } catch {
    // A file with the ending of YAML may be something else, such as a template.
    return false;
  }
}

function checkSize(folder: string, files: readonly HandlerFile[], problems: Problems): void {
  const most = MOST_CONFIG_MAPS * MOST_BYTES;
  const total = files.reduce((sum, { content }) => sum + content.length, 0);
  if (total > most) {
    const largest = [...files].sort((one, other) => other.content.length - one.content.length).slice(0, 3);
    const named = largest.map((each) => `${each.path} (${each.content.length})`).join(", ");
    const complaint = `have ${total} bytes, more than the ${most} of ${MOST_CONFIG_MAPS} ConfigMaps; the largest: ${named}`;
    problems.in(folder)("the handler's files", complaint, SIZE_REMEDY);
    return;
  }
  for (const each of files) {
    if (each.content.length <= MOST_BYTES) continue;
    const complaint = `has ${each.content.length} bytes, more than the ${MOST_BYTES} of a ConfigMap`;
    problems.in(folder)(each.path, complaint, SIZE_REMEDY);
  }
  if (!problems.found && packed(files).length > MOST_CONFIG_MAPS) {
    const complaint = `do not fit into ${MOST_CONFIG_MAPS} ConfigMaps of ${MOST_BYTES} bytes`;
    problems.in(folder)("the handler's files", complaint, SIZE_REMEDY);
  }
}

/** The files in their order, in as many parts as are needed so that each fits into a ConfigMap. */
function packed(files: readonly HandlerFile[]): HandlerFile[][] {
  const packs: HandlerFile[][] = [];
  let room = 0;
  for (const file of files) {
    if (file.content.length > room || packs.length === 0) {
      packs.push([]);
      room = MOST_BYTES;
    }
    packs.at(-1)?.push(file);
    room -= file.content.length;
  }
  return packs;
}

function toConfigMap(files: readonly HandlerFile[]): HandlerFiles {
  const data: [key: string, text: string][] = [];
  const binaryData: [key: string, base64: string][] = [];
  for (const { path: file, content } of files) {
    const text = textOf(content);
    if (text === undefined) binaryData.push([dataKeyOf(file), content.toString("base64")]);
    else data.push([dataKeyOf(file), text]);
  }
  return {
    data: Object.fromEntries(data),
    binaryData: Object.fromEntries(binaryData),
    items: files.map((file) => ({ key: dataKeyOf(file.path), path: file.path })),
  };
}

/** A file's content as text. Undefined if it is no text. A byte order mark is part of the file, and stays. */
function textOf(content: Buffer): string | undefined {
  if (content.includes(0)) return undefined;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    return undefined;
  }
}
