// The loop around a function in JavaScript: node function.js main.ts
//
// It reads requests from descriptor 4, calls reconcile(request) or finalize(request) of the author's file, and writes
// each answer with the request's id to descriptor 3. Standard output is the log's: the parent of this process sees to it.
//
// The author's file is a bundle, which Argosy makes when the operator is loaded. If the bundle is too large for a ConfigMap,
// it continues in main.ts.part2 and so on. With "--bundled-from-input" the bundle is not read from the file: it is the first
// line of descriptor 4, as JSON.

const { existsSync, readFileSync, writeFileSync } = require("node:fs");
const Module = require("node:module");
const { Socket } = require("node:net");
const path = require("node:path");
const { createInterface } = require("node:readline");
const { inspect } = require("node:util");

const ANSWERS = 3;
const REQUESTS = 4;
const LONGEST_TEXT = 2000;
const BUNDLE_REMEDY =
  "The bundle has what is imported by a constant name. Import this one so, or write a program with an image of its own: handler: { image, command }";
/** A line of a stack: "    at reconcile (/argosy/handler/main.ts:12:5)". */
const FRAME = /^ +at (?:async )?(?:(.+?) (?:\[as .+\] )?\()?(?:file:\/\/)?(\/.+?):(\d+):\d+\)?$/gm;

/** Something is wrong with the author's file or its answer. The message is worded for the author. */
class Refused extends Error {}

const [file, option] = process.argv.slice(2);
/** The author's folder. The function may choose another working directory, which may be gone when it fails. */
const FOLDER = process.cwd();
process.setSourceMapsEnabled(true);

/** @type {string | undefined} */
let bundle;
/** The author's file. Node forgets the source map of a module that nothing refers to any more. */
let authors;
/** What the author's file exports, once it could be loaded. */
let functions;
if (option === undefined) prepare(readParts());

const lines = createInterface({
  input: new Socket({ fd: REQUESTS, readable: true, writable: false }),
  crlfDelay: Number.POSITIVE_INFINITY,
});
/** The engine asks one request at a time; others wait here all the same. */
let last = Promise.resolve();
lines.on("line", (line) => {
  if (bundle === undefined) prepare(JSON.parse(line));
  else last = last.then(() => answer(JSON.parse(line)));
});
// What the author has left open must not keep the process alive.
lines.on("close", () => void last.then(() => process.exit()));

/** Loads before it is asked, so that the first answer is not late. What fails now fails again when it is asked. */
function prepare(text) {
  bundle = text;
  try {
    functions = load();
  } catch {}
}

function readParts() {
  let text = readFileSync(file, "utf8");
  for (let part = 2; existsSync(`${file}.part${part}`); part++) {
    text += readFileSync(`${file}.part${part}`, "utf8");
  }
  return text;
}

function load() {
  const filename = path.resolve(FOLDER, file);
  authors = new Module(filename);
  authors.filename = filename;
  // Nothing is installed in a cluster: what the bundle lacks is not found on any machine.
  authors.paths = [];
  authors._compile(bundle, filename, "commonjs");
  functionOf(authors.exports, "reconcile");
  return authors.exports;
}

function functionOf(exported, event) {
  const found = exported?.[event];
  if (typeof found === "function") return found;
  throw new Refused(
    `${file} exports no function ${event}(request). Write: export function ${event}(request) { ... }`,
  );
}

async function answer(request) {
  // The function may change its request.
  const { id } = request;
  try {
    tell(id, await answerTo(request));
  } catch (error) {
    tell(id, { error: { message: messageOf(error) } });
  }
}

async function answerTo(request) {
  const { event } = request;
  functions ??= load();
  const given = await functionOf(functions, event)(request);
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return given;
  const example = event === "finalize" ? "{ finalized: true }" : "{ children: [...] }";
  throw new Refused(
    `${file}: ${event} returned ${named(given)}, not an object. Return, for example, ${example}`,
  );
}

function named(value) {
  if (value === undefined || value === null) return String(value);
  return Array.isArray(value) ? "a list" : `a value of type ${typeof value}`;
}

function tell(id, given) {
  let text;
  let problem;
  try {
    text = JSON.stringify({ ...given, id });
    const stray = strayPart(given);
    if (stray) problem = `${stray.path.join(".")} is ${stray.is}`;
  } catch (error) {
    problem = error.message.split("\n")[0];
  }
  if (problem !== undefined) throw new Refused(`${file}: the answer cannot be written as JSON: ${problem}`);
  writeFileSync(ANSWERS, `${text}\n`);
}

/** The part of an answer that JSON.stringify would silently replace, and its path. */
function strayPart(value, isEntry = false) {
  if (typeof value === "number" && !Number.isFinite(value)) return { is: value, path: [] };
  // A field without a value is left out. An entry of a list becomes null.
  if (isEntry && ["undefined", "function", "symbol"].includes(typeof value))
    return { is: typeof value, path: [] };
  // What has a toJSON is written as something else.
  if (typeof value !== "object" || value === null || typeof value.toJSON === "function") return undefined;
  if (value instanceof Map || value instanceof Set) return { is: `a ${value.constructor.name}`, path: [] };
  for (const [key, inner] of Array.isArray(value) ? value.entries() : Object.entries(value)) {
    const stray = strayPart(inner, Array.isArray(value));
    if (stray) return { ...stray, path: [key, ...stray.path] };
  }
  return undefined;
}

/** The error's text. Anything can be thrown, also what cannot be written as text. */
function messageOf(error) {
  if (error instanceof Refused) return error.message;
  try {
    return placedMessageOf(error);
  } catch {
    return `${file}: it threw ${named(error)}, which cannot be written as text`;
  }
}

/** The error's text, after the innermost line of the author's own files: "main.ts:12 in reconcile: TypeError: ...". */
function placedMessageOf(error) {
  console.error(error);
  const isError = error instanceof Error;
  // An object may have no method for its text.
  const thrown = typeof error === "object" ? inspect(error) : String(error);
  const words = isError ? `${error.name}: ${error.message}` : `it threw ${named(error)}: ${thrown}`;
  const text = isMissingModule(error) ? `${words.split("\n")[0]}. ${BUNDLE_REMEDY}` : words;
  const [place = file] = isError ? ownPlaces(String(error.stack)) : [];
  return `${place}: ${text}`.slice(0, LONGEST_TEXT);
}

/** A package, or a package of a package, requires something by a name that it makes when it runs: no bundler finds that. */
function isMissingModule(error) {
  return error?.code === "MODULE_NOT_FOUND" || error?.code === "ERR_MODULE_NOT_FOUND";
}

function* ownPlaces(stack) {
  for (const [, name, at, line] of stack.matchAll(FRAME)) {
    const own = path.relative(FOLDER, at);
    if (own.startsWith("..") || own.split(path.sep).includes("node_modules") || at === __filename) continue;
    const caller = name?.replace(/^(?:Object|Module|module\.exports|exports)\./, "");
    yield `${own}:${line}${caller && !/^(?:Object|Module)\b|<anonymous>/.test(caller) ? ` in ${caller}` : ""}`;
  }
}
