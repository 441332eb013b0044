import { inspect } from "node:util";
import fc from "fast-check";

/** The ways in which common libraries, shells and the API server write a text that a program gives them. */
export const FORMS: Readonly<Record<string, (text: string) => string>> = {
  "as it is": (text) => text,
  "JSON of JavaScript": (text) => JSON.stringify(text),
  "JSON of Go, safe in HTML": (text) => JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, unit),
  "JSON of Python, in ASCII": (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, unit),
  "JSON of PHP, with slashes": (text) =>
    JSON.stringify(text)
      .replace(/\//g, "\\/")
      .replace(/[\u007f-\uffff]/g, unit),
  "JSON of .NET": (text) => `"${text.replace(/[^\w .,]/g, (each) => unit(each, true))}"`,
  "a part of a URL": encodeURIComponent,
  "a URL": encodeURI,
  "a URL of Python, with slashes": (text) => encodeURIComponent(text).replaceAll("%2F", "/"),
  "a URL with small digits": (text) => encodeURIComponent(text).replace(/%../g, (each) => each.toLowerCase()),
  "a form": (text) => new URLSearchParams({ text }).toString().slice("text=".length),
  "HTML of Python": (text) => entities(text, { "'": "&#x27;" }),
  "HTML of Go": (text) => entities(text, { "'": "&#39;", '"': "&#34;" }),
  "XML in ASCII": (text) =>
    entities(text, { "'": "&apos;" }).replace(/[^ -~]/gu, (each) => `&#${each.codePointAt(0)};`),
  base64: (text) => base64(text),
  "base64 for URLs, without padding": (text) => Buffer.from(text).toString("base64url"),
  "base64 of a user": (text) => base64(`u:${text}`),
  "base64 of another user": (text) => base64(`me:${text}@`),
  "base64 of a third user": (text) => base64(`you:${text}@h`),
  "base64 in lines": (text) => base64(`${"x".repeat(70)}${text}`).replace(/.{76}/g, "$&\n"),
  "hexadecimal digits": (text) => Buffer.from(text).toString("hex"),
  "big hexadecimal digits": (text) => Buffer.from(text).toString("hex").toUpperCase(),
  "bytes of Go": (text) => `[${[...Buffer.from(text)].join(" ")}]`,
  "bytes of Java": (text) => `[${[...new Int8Array(Buffer.from(text))].join(", ")}]`,
  "a Buffer in JSON": (text) => JSON.stringify(Buffer.from(text)),
  "a Buffer of Node": (text) => `<Buffer ${pairs(text).join(" ")}>`,
  "digits of OpenSSL": (text) => pairs(text).join(":").toUpperCase(),
  "a text of Erlang": (text) =>
    `"${text.replace(/["\\]/g, "\\$&").replace(/[^ -~]/gu, (each) => `\\x{${each.codePointAt(0)?.toString(16)}}`)}"`,
  "a text of Go": (text) => `"${[...text].map((each) => ofGo(each)).join("")}"`,
  "a text of Go in ASCII": (text) => `"${[...text].map((each) => ofGo(each, /[ -~]/)).join("")}"`,
  "a text of Python": ofPython,
  "bytes of Python": (text) =>
    `b'${[...Buffer.from(text)].map((byte) => (byte < 0x7f ? ofPython(String.fromCharCode(byte)).slice(1, -1) : `\\x${byte.toString(16)}`)).join("")}'`,
  "a text of Node": (text) => inspect(text),
  "a word of a shell": (text) => `'${text.replaceAll("'", "'\\''")}'`,
  "a word of Python's shlex": (text) => `'${text.replaceAll("'", `'"'"'`)}'`,
  "a word of bash's printf": ofBash,
  "a word of Ruby's shellwords, but for its line ends": (text) => text.replace(/[^\w.,:+/@\r\n-]/gu, "\\$&"),
  "a text of SQL and YAML": (text) => `'${text.replaceAll("'", "''")}'`,
  "a text of CSV": (text) => `"${text.replaceAll('"', '""')}"`,
};

function pairs(text: string): string[] {
  return Buffer.from(text).toString("hex").match(/../g) ?? [];
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

function unit(character: string, isBig = false): string {
  const digits = character.charCodeAt(0).toString(16).padStart(4, "0");
  return `\\u${isBig === true ? digits.toUpperCase() : digits}`;
}

function entities(text: string, others: Readonly<Record<string, string>>): string {
  const all: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", ...others };
  return text.replace(/[&<>"']/g, (each) => all[each] ?? each);
}

const LETTERS: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
};

/** @see https://pkg.go.dev/strconv#Quote */
function ofGo(character: string, plain = /[\p{L}\p{M}\p{N}\p{P}\p{S} ]/u): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  if (plain.test(character)) return character;
  const code = character.codePointAt(0) ?? 0;
  if (LETTERS[character]) return LETTERS[character];
  if (code < 0x20 || code === 0x7f) return `\\x${code.toString(16).padStart(2, "0")}`;
  return code > 0xffff
    ? `\\U${code.toString(16).padStart(8, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** @see https://docs.python.org/3/library/functions.html#repr */
function ofPython(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const inner = [...text].map((each) => {
    if (each === quote || each === "\\") return `\\${each}`;
    if ("\n\r\t".includes(each)) return LETTERS[each];
    if (each === " " || !/[\p{C}\p{Z}]/u.test(each)) return each;
    const code = each.codePointAt(0) ?? 0;
    const [letter, length] = code < 0x100 ? ["x", 2] : code < 0x10000 ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(Number(length), "0")}`;
  });
  return quote + inner.join("") + quote;
}

/** As `printf %q` in the locale C. */
function ofBash(text: string): string {
  if (/^[ -~]*$/.test(text)) return text.replace(/[^\w%+./:=@-]/g, "\\$&");
  const inner = [...Buffer.from(text)].map((byte) => {
    const character = String.fromCharCode(byte);
    if (character === "\u001b") return "\\E";
    if (character === "'" || character === "\\") return `\\${character}`;
    return byte >= 0x20 && byte < 0x7f
      ? character
      : (LETTERS[character] ?? `\\${byte.toString(8).padStart(3, "0")}`);
  });
  return `$'${inner.join("")}'`;
}

/** Values with characters that libraries treat in different ways. */
export const ODD_VALUES = [
  `it's "so" secret-77`,
  "geheim\u00a0wort\u200bä-9876",
  "abc\u007fdefghi-1\u0007",
  "vt\vsecret-part-two",
  "p&ss<word>-12345",
  "Größe-geheim-äöü-77\u{1f600}",
  "pa%20ss/word+geheim?",
  '{"user":"a","password":"","note":"it\'s\\n"}',
  "first line of a key\nsecond\tline: \u05d0\u05d1\u202e",
  "C:\\new\\table-0123",
  "пароль-тайна-страж",
  "парольтайнастраж",
  "the first line of it\nand the second line\nthe third line of it",
];

/** Characters of which each is special to a library, a shell, a terminal or a reader of JSON. */
const SPECIAL = [
  ..."'\"`\\/&<>%+=@:;#$!?*~^|(){}[] -_.,\n\t\r\v\u0000\u0007\u001b\u007f\u0085\u00a0\u00ad",
  ..."äßé€Ωж中אب\u200b\u200d\u200e\u202e\u2028\u2029\ufeff\ufffd\u{1f600}\u{1f1e9}\u{10ffff}aA0",
];
/** What looks like another form. */
const TRAPS = [
  "",
  "%41",
  "\\n",
  "\\u0041",
  "&amp;",
  "&#65;",
  "\\x41",
  "\\101",
  "''",
  '""',
  "'\\''",
  "+",
  "dXNl",
];

/** Values of every script, as a Secret may have them. */
export function secretValues(): fc.Arbitrary<string> {
  const character = fc.oneof(fc.constantFrom(...SPECIAL), fc.string({ unit: "binary", maxLength: 3 }));
  const some = fc.array(character, { maxLength: 10 }).map((all) => Buffer.from(all.join("")).toString());
  return fc
    .tuple(some, fc.constantFrom(...TRAPS), fc.stringMatching(/^[a-z0-9]{6}$/), some)
    .map((all) => all.join("").trim())
    .filter((value) => !(value.includes("''") && value.includes('""')));
}
