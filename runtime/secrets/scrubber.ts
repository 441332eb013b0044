// The one place that hides them. Begin here.
import { ReconcileFailure } from "../base/failure";
import { fingerprint, isRecord } from "../base/json";
import { isSecretKind } from "../base/kinds";
import { type Manifest, withoutLastApplied } from "../base/objects";
import { cut } from "../base/text";
import type { Outcome } from "../reconcile/report";
import { bytesOfText, replaced, textOfBytes } from "./secretReadings";
import { formsOf, hiddenIn, newWork, SecretValues, type Work } from "./secretValues";

/** Stands for a value that is not reported. */
export const MASK = "***";
/** How much of Secrets that no run needs is remembered, in characters. Each value is remembered in several forms. */
export const MOST_REMEMBERED = 8 * 1024 * 1024;
/** The memory that a value takes in addition to its characters. */
const BESIDE_VALUE = 100;
/** The longest text that is reported. Only this part of a text is searched. */
const LONGEST_REPORTED = 16 * 1024;

/**
 * The fields of reports that have texts in them. All others are names: readers and the API server expect exactly these, and a
 * Secret may have the same word as a value.
 */
const TEXTS: readonly string[] = ["message", "note", "log", "problem", "error"];

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
 * Guarantee (tests/unit/secretForms.test.ts): a value of a Secret that the handler has, was given or has answered is masked in every
 * form that `readingsOf` undoes if it has 6 characters or more. If a value has several lines, each line of 16 characters or more is
 * masked too. So is the beginning of a value before `CUT` (tests/unit/scrubberCuts.test.ts). No more is promised: if a handler reports
 * half of a value, or a value that it changed, this is reported.
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
   * Remembers Secrets that a handler has, is given, or has answered.
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
    return this.masked(whole, longest, newWork());
  }

  private masked(whole: string, longest: number, work: Work): string {
    if (this.known.size === 0) return whole;
    const text = cut(whole, longest);
    const bytes = bytesOfText(text);
    const found = this.values.in(bytes, work);
    if (!found) return MASK;
    if (found.length === 0) return text;
    const spans = found.map(({ reading, span }) => ({ ...reading.outside(span), instead: MASK }));
    return textOfBytes(replaced(bytes, spans));
  }

  /** The outcome of a run without the values, in all its parts that are reported. The run has ended. */
  outcome(outcome: Outcome): Outcome {
    try {
      return this.known.size === 0 ? outcome : this.said(outcome);
    } finally {
      const { id } = outcome.report;
      for (const version of this.needed.get(id) ?? []) version.runs--;
      this.needed.delete(id);
      this.forget();
    }
  }

  /** A part of a report without the values in its {@link TEXTS}. */
  said<Said>(said: Said): Said {
    if (said instanceof ReconcileFailure) return this.failure(said) as Said;
    if (Array.isArray(said)) return said.map((each) => this.said(each)) as Said;
    if (!isRecord(said)) return said;
    const entries = Object.entries(said).map(([key, each]) => [
      key,
      typeof each === "string" && TEXTS.includes(key) ? this.text(each) : this.said(each),
    ]);
    return Object.fromEntries(entries) as Said;
  }

  /**
   * A value without the values of Secrets in its texts and keys, however long these are. A Secret in it has none of its values.
   * @param work how much may be done for all these texts
   */
  inside<Value>(value: Value, work = newWork()): Value {
    if (typeof value === "string") return this.masked(value, Number.POSITIVE_INFINITY, work) as Value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.inside(each, work)) as Value;
    const shown = isSecretKind(value) ? withoutValues(value as Record<string, unknown>) : value;
    const entries = Object.entries(shown).map(([key, each]) => [
      this.inside(key, work),
      this.inside(each, work),
    ]);
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

  /** The version with this content, which becomes the latest. @param hidden values in base64 */
  private latest(hidden: readonly string[]): Version {
    const id = fingerprint(hidden);
    const version = this.known.get(id) ?? this.newVersion(hidden);
    this.known.delete(id);
    this.known.set(id, version);
    return version;
  }

  private newVersion(hidden: readonly string[]): Version {
    const values = hidden.flatMap(formsOf);
    for (const value of values) this.values.addValue(value);
    const size = values.reduce((sum, { length }) => sum + length + BESIDE_VALUE, BESIDE_VALUE);
    this.remembered += size;
    return { values, size, runs: 0 };
  }

  /** Forgets the Secrets that were remembered longest ago and that no run needs, if there are too many. */
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
