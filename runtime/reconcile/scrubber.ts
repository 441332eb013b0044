import { ReconcileFailure } from "../failure";
import { fingerprint } from "../json/fingerprint";
import { isRecord } from "../json/json";
import { isSecretKind } from "../kubernetes/kinds";
import type { Manifest } from "../kubernetes/objects";
import { CUT, cut } from "../text/cut";
import { withoutLastApplied } from "../watch/watched";
import type { Outcome } from "./outcome";
import { formsOf, hiddenIn } from "./secretForms";
import { type Comparing, SecretValues, SHORTEST_VALUE } from "./secretValues";
import type { ReconcileTiming } from "./timeline";

/** Stands for a value that is not reported. */
export const MASK = "***";
/** How much of Secrets that no run needs is remembered, in characters. Each value is remembered in several forms. */
const MOST_REMEMBERED = 8 * 1024 * 1024;
/** The memory that a value takes beside its characters. */
const BESIDE_VALUE = 100;
/** The longest text that is reported. Only this part of a text is searched. */
const LONGEST_REPORTED = 16 * 1024;

/**
 * How many characters of texts and values are compared, and how many more for each character of the texts. If a text resembles a long
 * value at very many places, for example because both repeat one character, the rest of the text is masked. Otherwise somebody who
 * writes both could stop this process for minutes.
 */
const [MOST_COMPARED, MORE_FOR_EACH] = [2 ** 24, 64];

/** The values of Secrets with the same content. */
interface Version {
  readonly values: readonly string[];
  /** In characters. */
  readonly size: number;
  /** How many runs need it. */
  runs: number;
}

/**
 * Masks the values of Secrets in all reports: the handler's log, conditions, Events and records.
 *
 * Guarantee (tests/unit/scrubber.test.ts): a value of a Secret that the handler was given or has answered is masked as it is and
 * in base64 if it has 6 characters or more. If a value has several lines, each line of 16 characters or more is masked too. Both are
 * masked in JSON as well, as JavaScript, Go and Python write it. So is the beginning of a value before {@link CUT}
 * (tests/unit/scrubberCuts.test.ts). No more is promised: if a handler reports half of a value, or a value that it changed, this is
 * reported.
 *
 * Guarantee (tests/unit/scrubber.test.ts): the Secrets of the runs in progress are known. Of other Secrets, the
 * latest are known, within a bound.
 *
 * Assumption: children and status in a handler's answer are intended, and are left alone. So are the types and reasons of its
 * conditions and Events.
 */
export class Scrubber {
  /** By content: an answered Secret has neither uid nor version. The latest come last. */
  private readonly known = new Map<string, Version>();
  /** The Secrets that runs in progress need, by the id of the run's report. */
  private readonly needed = new Map<string, Set<Version>>();
  private readonly values = new SecretValues();
  private remembered = 0;

  /** @param most how much of Secrets that no run needs is remembered, in characters */
  constructor(private readonly most = MOST_REMEMBERED) {}

  /**
   * Takes in Secrets that a handler is given, or has answered.
   * @param run the id of the report of the handler's run. They are remembered until the outcome of the run is masked
   * @param names of objects, which reports name. Such a name is not a secret, even if a Secret has the same word as a value.
   *   @default none
   * @returns how much of them the run did not have before, in characters
   */
  learn(secrets: readonly Manifest[], run?: string, names: ReadonlySet<string> = new Set()): number {
    const needed = this.needed.get(run ?? "") ?? new Set();
    const versions = new Set(secrets.map((secret) => this.latest(hiddenIn(secret, names))));
    const more = [...versions].filter((version) => !needed.has(version));
    if (run !== undefined) {
      for (const version of more) {
        version.runs++;
        needed.add(version);
      }
      this.needed.set(run, needed);
    }
    this.forget(versions);
    return more.reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * The text without the values.
   * @param longest how many characters are searched. The rest is left out. @default more than is ever reported
   */
  text(whole: string, longest = LONGEST_REPORTED): string {
    return this.masked(whole, longest, { left: MOST_COMPARED });
  }

  private masked(whole: string, longest: number, comparing: Comparing): string {
    if (this.values.isEmpty) return whole;
    const text = cut(whole, longest);
    comparing.left += MORE_FOR_EACH * text.length;
    const parts: string[] = [];
    let from = 0;
    let end = endOfPart(text, 0);
    for (let at = 0; at + SHORTEST_VALUE <= text.length; ) {
      if (at > end) end = endOfPart(text, at);
      const length = this.values.lengthAt(text, at, end, comparing);
      if (comparing.left < 0) return `${parts.join("")}${text.slice(from, at)}${MASK}`;
      if (length === 0) {
        at++;
        continue;
      }
      parts.push(text.slice(from, at), MASK);
      at += length;
      from = at;
    }
    return parts.length === 0 ? text : parts.join("") + text.slice(from);
  }

  /** The outcome of a run without the values, in all its parts that are reported. The run has ended. */
  outcome(outcome: Outcome): Outcome {
    const scrubbed = this.values.isEmpty ? outcome : this.scrubbed(outcome);
    const { id } = outcome.report;
    for (const version of this.needed.get(id) ?? []) version.runs--;
    this.needed.delete(id);
    this.forget();
    return scrubbed;
  }

  /**
   * A verdict, a condition or an Event without the values in its text. Its other fields are names: readers and the API server expect
   * exactly these, and a value of anybody's Secret may be the same word.
   */
  said<Said extends object>(said: Said): Said {
    const { message, note } = said as { readonly message?: string; readonly note?: string };
    return {
      ...said,
      ...(message !== undefined && { message: this.text(message) }),
      ...(note !== undefined && { note: this.text(note) }),
    };
  }

  /**
   * A value without the values of Secrets in its texts, however long these are. A Secret in it has none of its values.
   * @param comparing how much may be compared in all these texts
   */
  inside<Value>(value: Value, comparing: Comparing = { left: MOST_COMPARED }): Value {
    if (typeof value === "string") return this.masked(value, Number.POSITIVE_INFINITY, comparing) as Value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.inside(each, comparing)) as Value;
    const shown = isSecretKind(value) ? withoutValues(value as Record<string, unknown>) : value;
    const entries = Object.entries(shown).map(([key, each]) => [key, this.inside(each, comparing)]);
    return Object.fromEntries(entries) as Value;
  }

  /** A failure without the values in its message and its log. */
  failure(failure: ReconcileFailure): ReconcileFailure {
    const { reason, permanent, retryAfterSeconds, cause } = failure;
    return new ReconcileFailure(reason, this.text(failure.message), {
      permanent,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      log: this.text(failure.log),
      cause,
    });
  }

  private scrubbed(outcome: Outcome): Outcome {
    const { report, verdict, events } = outcome;
    const failure = report.failure && this.failure(report.failure);
    return {
      ...outcome,
      report: {
        ...report,
        log: this.text(report.log),
        ...(failure && { failure }),
        ...(report.problem !== undefined && { problem: this.text(report.problem) }),
        ...(report.timing && { timing: this.timing(report.timing) }),
      },
      ...(verdict && {
        verdict:
          verdict.kind === "failed"
            ? { ...verdict, failure: failure ?? this.failure(verdict.failure) }
            : this.said(verdict),
      }),
      events: events.map((event) => this.said(event)),
    };
  }

  private timing(timing: ReconcileTiming): ReconcileTiming {
    const steps = timing.steps.map((step) =>
      step.error === undefined ? step : { ...step, error: this.text(step.error) },
    );
    return { ...timing, steps };
  }

  /** The version with this content, which becomes the latest. @param hidden values in base64 */
  private latest(hidden: readonly string[]): Version {
    const id = fingerprint(hidden);
    const version = this.known.get(id) ?? this.newVersion(hidden);
    this.known.delete(id);
    this.known.set(id, version);
    return version;
  }

  private newVersion(hidden: readonly string[]): Version {
    const values = formsOf(hidden);
    for (const value of values) this.values.add(value);
    const size = values.reduce((sum, { length }) => sum + length + BESIDE_VALUE, BESIDE_VALUE);
    this.remembered += size;
    return { values, size, runs: 0 };
  }

  /** Forgets the Secrets that were learnt longest ago and that no run needs, if there are too many. */
  private forget(latest: ReadonlySet<Version> = new Set()): void {
    for (const [id, version] of this.known) {
      if (this.remembered <= this.most) return;
      if (version.runs > 0 || latest.has(version)) continue;
      this.known.delete(id);
      this.remembered -= version.size;
      for (const value of version.values) this.values.remove(value);
    }
  }
}

/** The end of the part of a text that has a character at `at`. A part of a text ends where something was left out. */
function endOfPart(text: string, at: number): number {
  const end = text.indexOf(CUT, at);
  return end < 0 ? text.length : end;
}

/** A Secret without its values, however short they are. `kubectl apply` writes all of them into an annotation once more. */
function withoutValues({ data, stringData, metadata, ...secret }: Readonly<Record<string, unknown>>): object {
  return {
    ...secret,
    ...(metadata !== undefined && { metadata: isRecord(metadata) ? withoutLastApplied(metadata) : metadata }),
    ...(data !== undefined && { data: maskedIn(data) }),
    ...(stringData !== undefined && { stringData: maskedIn(stringData) }),
  };
}

/** The keys of a map, and no value. */
function maskedIn(map: unknown): unknown {
  return isRecord(map) ? Object.fromEntries(Object.keys(map).map((key) => [key, MASK])) : MASK;
}
