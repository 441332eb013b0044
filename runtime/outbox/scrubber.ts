import { CUT } from "../cut";
import { ReconcileFailure } from "../failure";
import type { KubernetesObject } from "../kubernetes/objects";
import type { Outcome } from "../reconcile/outcome";
import type { RunTiming } from "../reconcile/timeline";

/** Stands for a value that is not reported. */
const MASK = "***";
/** Shorter values are words, such as "true", and would mask half of every message. */
const SHORTEST = 6;
/** The same of a line of a value that has several: many a Secret is a file with settings. */
const SHORTEST_LINE = 16;
/** So many versions of Secrets are remembered. */
const MOST_SECRETS = 10_000;

/**
 * Masks the values of used Secrets in what is reported: the handler's log, conditions, Events and records.
 *
 * Guarantee (tests/unit/scrubber.test.ts): a value of a Secret that was given to the handler, of 6 characters and more, is
 * masked as it is and in base64, and so is a line of 16 characters and more of a value that has several. What is left of a
 * value before {@link CUT} is masked too (tests/unit/scrubberCuts.test.ts). No more is promised: a handler that reports half of
 * a value, or a value that it changed, reports it.
 *
 * Assumption: what a handler answers as children and status is meant, and left alone.
 */
export class Scrubber {
  /** The values of each version of a Secret. The latest given come last. */
  private readonly secrets = new Map<string, readonly string[]>();
  /** How many Secrets have a value. */
  private readonly counts = new Map<string, number>();
  /** The values by how they begin, the longest first. */
  private readonly byBeginning = new Map<string, string[]>();

  constructor(private readonly most = MOST_SECRETS) {}

  /** Takes in Secrets that are given to a handler. */
  learn(secrets: readonly KubernetesObject[]): void {
    for (const secret of secrets) {
      const { uid, resourceVersion } = secret.metadata;
      const id = `${uid}/${resourceVersion}`;
      const values = this.secrets.get(id) ?? valuesOf(secret);
      if (!this.secrets.delete(id)) for (const value of values) this.add(value);
      this.secrets.set(id, values);
    }
    for (const [oldest, values] of this.secrets) {
      if (this.secrets.size <= this.most) return;
      this.secrets.delete(oldest);
      for (const value of values) this.remove(value);
    }
  }

  /** The text without the values. */
  text(text: string): string {
    if (this.counts.size === 0) return text;
    const parts: string[] = [];
    let from = 0;
    let end = endOfPart(text, 0);
    for (let at = 0; at + SHORTEST <= text.length; ) {
      if (at > end) end = endOfPart(text, at);
      const length = this.lengthAt(text, at, end);
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

  /** The outcome of a reconcile without the values, in all that is reported of it. */
  outcome(outcome: Outcome): Outcome {
    if (this.counts.size === 0) return outcome;
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
            : this.inside(verdict),
      }),
      events: events.map((event) => this.inside(event)),
    };
  }

  /** A value without the values of Secrets in its texts. */
  inside<Value>(value: Value): Value {
    if (typeof value === "string") return this.text(value) as Value;
    if (typeof value !== "object" || value === null) return value;
    if (Array.isArray(value)) return value.map((each) => this.inside(each)) as Value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, this.inside(each)])) as Value;
  }

  /** How much of a text from `at` on is of a value: all of the value, or what a cut at `end` has left of it. */
  private lengthAt(text: string, at: number, end: number): number {
    const alike = this.byBeginning.get(text.slice(at, at + SHORTEST));
    if (!alike) return 0;
    const rest = text.slice(at, end);
    const whole = alike.find((value) => text.startsWith(value, at))?.length ?? 0;
    const isCut = rest.length > whole && alike.some((value) => value.startsWith(rest));
    return isCut ? rest.length : whole;
  }

  private timing(timing: RunTiming): RunTiming {
    const steps = timing.steps.map((step) =>
      step.error === undefined ? step : { ...step, error: this.text(step.error) },
    );
    return { ...timing, steps };
  }

  private failure(failure: ReconcileFailure): ReconcileFailure {
    const { reason, permanent, retryAfterSeconds, cause } = failure;
    return new ReconcileFailure(reason, this.text(failure.message), {
      permanent,
      ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
      log: this.text(failure.log),
      cause,
    });
  }

  private add(value: string): void {
    const count = this.counts.get(value) ?? 0;
    this.counts.set(value, count + 1);
    if (count > 0) return;
    const beginning = value.slice(0, SHORTEST);
    const alike = [...(this.byBeginning.get(beginning) ?? []), value];
    this.byBeginning.set(
      beginning,
      alike.sort((a, b) => b.length - a.length),
    );
  }

  private remove(value: string): void {
    const count = this.counts.get(value) ?? 0;
    if (count > 1) {
      this.counts.set(value, count - 1);
      return;
    }
    this.counts.delete(value);
    const beginning = value.slice(0, SHORTEST);
    const left = (this.byBeginning.get(beginning) ?? []).filter((each) => each !== value);
    if (left.length === 0) this.byBeginning.delete(beginning);
    else this.byBeginning.set(beginning, left);
  }
}

/** Where the part of a text ends that has a character at `at`: parts of a text end where something was left out. */
function endOfPart(text: string, at: number): number {
  const end = text.indexOf(CUT, at);
  return end < 0 ? text.length : end;
}

/** The values of a Secret: as they are, without the line end that a file leaves, line by line, and in base64. */
function valuesOf(secret: KubernetesObject): string[] {
  const data = (secret["data"] ?? {}) as Record<string, unknown>;
  const values = Object.values(data).flatMap((encoded) => {
    if (typeof encoded !== "string") return [];
    const raw = Buffer.from(encoded, "base64").toString("utf8");
    const trimmed = raw.trim();
    const again = Buffer.from(trimmed, "utf8").toString("base64");
    // Lines in JSON have their ends escaped.
    const inJson = JSON.stringify(trimmed).slice(1, -1);
    return raw.includes("\ufffd") ? [encoded] : [raw, trimmed, inJson, encoded, again, ...linesOf(trimmed)];
  });
  return [...new Set(values)].filter((value) => value.length >= SHORTEST);
}

/** The lines of a value that has several. A short one may be a word, and what frames a key is the same in each file. */
function linesOf(value: string): string[] {
  if (!value.includes("\n")) return [];
  return value
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line.length >= SHORTEST_LINE && !/^-----[A-Z0-9 ]+-----$/.test(line));
}
