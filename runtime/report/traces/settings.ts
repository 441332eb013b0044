import { validateHeaderName, validateHeaderValue } from "node:http";
import type { TraceExporterOptions } from "./exporter";

/** The path at which a collector accepts spans by OTLP over HTTP, after its own address. */
const SPANS_PATH = "/v1/traces";

/**
 * What is wrong with the address of a collector, to follow its name: 'is no address'. The text never contains the address, which
 * may have a password. Undefined if nothing is wrong.
 */
export function endpointProblem(endpoint: string): string | undefined {
  if (!URL.canParse(endpoint)) return "is no address";
  const { protocol, username, password, search, hash, hostname } = new URL(endpoint);
  if (protocol !== "http:" && protocol !== "https:")
    return `begins with ${protocol}, and not with http: or https:`;
  if (hostname === "") return "has no host";
  if (username !== "" || password !== "") return "has a user or a password in it";
  if (search !== "" || hash !== "") return "has a query or a fragment in it";
  return undefined;
}

/**
 * Reads the settings for traces.
 * @param headers as OTEL_EXPORTER_OTLP_HEADERS has them: "key=value,key=value", the values percent-encoded
 * @param oneIn a whole number as text: with "20", one run in 20 is traced. "" for every run
 * @throws Error that says what is wrong, and has no part of the headers or the address in it
 */
export function readTraceSettings(given: {
  readonly endpoint: string;
  readonly headers: string;
  readonly oneIn: string;
}): Pick<TraceExporterOptions, "url" | "headers" | "ratio"> {
  const problem = endpointProblem(given.endpoint);
  if (problem !== undefined) throw new Error(`the collector's endpoint ${problem}`);
  const url = new URL(given.endpoint);
  const base = url.pathname.replace(/\/+$/, "");
  url.pathname = base.endsWith(SPANS_PATH) ? base : base + SPANS_PATH;
  const oneIn = given.oneIn === "" ? 1 : Number(given.oneIn);
  if (!(oneIn >= 1))
    throw new Error("the setting that one run in so many is traced must be a number of at least 1");
  return { url, headers: readHeaders(given.headers), ratio: 1 / oneIn };
}

function readHeaders(text: string): Record<string, string> {
  const entries = text.split(",").filter((entry) => entry.trim() !== "");
  return Object.fromEntries(
    entries.map((entry, index) => headerOf(entry, `${index + 1} of ${entries.length}`)),
  );
}

function headerOf(entry: string, which: string): [name: string, value: string] {
  const [, name = "", value = ""] = /^([^=]*)=(.*)$/s.exec(entry)?.map((part) => part.trim()) ?? [];
  try {
    const text = decodeURIComponent(value);
    validateHeaderName(name);
    validateHeaderValue(name, text);
    return [name.toLowerCase(), text];
  } catch {
    // The error below says so, without the header.
  }
  throw new Error(`header ${which} for the collector is not of the form key=value`);
}
