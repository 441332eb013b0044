/** The collector to which traces are sent. */
export interface TraceSettings {
  /** The address for spans: the collector's, with the path `/v1/traces`. */
  readonly url: URL;
  /** Further headers. They may be secret. */
  readonly headers: Readonly<Record<string, string>>;
  /** How many of all runs are traced, from 0 to 1. */
  readonly ratio: number;
}

/** The path at which a collector takes spans by OTLP over HTTP, after its own address. */
const SPANS_PATH = "/v1/traces";

/** The characters of a header's name (RFC 9110), and of a value that cannot end the header. */
const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const HEADER_VALUE = /^[\t\x20-\x7e]*$/;

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
}): TraceSettings {
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
  const entries = text
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  return Object.fromEntries(
    entries.map((entry, index) => {
      const equals = entry.indexOf("=");
      const name = entry.slice(0, Math.max(0, equals)).trim();
      const value = decoded(entry.slice(equals + 1).trim());
      if (equals > 0 && HEADER_NAME.test(name) && value !== undefined && HEADER_VALUE.test(value))
        return [name.toLowerCase(), value];
      throw new Error(
        `header ${index + 1} of ${entries.length} for the collector is not of the form key=value`,
      );
    }),
  );
}

function decoded(value: string): string | undefined {
  try {
    return decodeURIComponent(value);
  } catch {
    return undefined;
  }
}
