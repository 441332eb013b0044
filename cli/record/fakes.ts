import { isRecord } from "../../runtime/json/json";
import { isSecretKind, secretDataOf } from "../../runtime/kubernetes/kinds";
import type { Manifest } from "../../runtime/kubernetes/objects";
import { withoutLastApplied } from "../../runtime/watch/watched";
import { FAKES, fakeOf } from "../diff/secretMask";

/** Shorter values may be common words, such as "true". Outside of Secrets they are not replaced. */
const SHORTEST = 6;
/** The fields that identify an object are not secret, even if a Secret has the same word as a value. */
const IDENTITY: ReadonlySet<string> = new Set(["apiVersion", "kind", "name", "namespace"]);

/** Splits a text at its fakes, and keeps them. */
const FAKE_PARTS = new RegExp(`(${FAKES.source})`);

/**
 * Replaces the values of Secrets by fakes everywhere: in the Secrets, and in every other text.
 *
 * Guarantee (tests/unit/recordFakes.test.ts): the result of {@link inside} contains no learnt value. A Secret contains none at
 * all. Other texts contain none of 6 or more characters, neither plain nor in base64. The same value has the same fake
 * everywhere, so that a handler which compares two values gets the same result as in the cluster. The same Secrets give the same
 * fakes.
 *
 * Caveat: anything that is derived from a value, such as a hash or a half of it, is not recognized. Keys of maps stay, and so do
 * the fields that identify an object.
 */
export class Fakes {
  /** The fakes by the real values, with each byte as a character. */
  private readonly byValue = new Map<string, string>();
  /** The texts that must not be written, the longest first, with their replacements. */
  private replacements: readonly (readonly [real: string, fake: string])[] = [];

  /** Learns the values of a Secret. The first Secret that has a value names the value's fake. */
  learn(secret: Manifest): void {
    for (const [key, encoded] of Object.entries(secretDataOf(secret))) {
      if (typeof encoded === "string") this.add(decoded(encoded), fakeOf(secret, key));
    }
    const forms = [...this.byValue].flatMap(([real, fake]) => formsOf(real, fake));
    const kept = [...this.byValue.values()].map((fake) => [inBase64(fake), inBase64(fake)] as const);
    const byText = new Map([...forms.filter(([real]) => real.length >= SHORTEST), ...kept]);
    this.replacements = [...byText].sort(([one], [other]) => other.length - one.length);
  }

  /** How many values are known. */
  get size(): number {
    return this.byValue.size;
  }

  /** A JSON value with fakes instead of all learnt values. */
  inside<Value>(value: Value): Value {
    if (typeof value === "string") return this.text(value) as Value;
    if (Array.isArray(value)) return value.map((each) => this.inside(each)) as Value;
    if (!isRecord(value)) return value;
    if (isSecretKind(value)) return this.secret(value as unknown as Manifest) as unknown as Value;
    return this.fields(value, (each) => this.inside(each)) as Value;
  }

  /** A handler's answer without the learnt values. The Secrets that it answers already contain fakes, and stay. */
  outside<Value>(value: Value): Value {
    if (typeof value === "string") return this.text(value) as Value;
    if (Array.isArray(value)) return value.map((each) => this.outside(each)) as Value;
    return (isRecord(value) ? this.fields(value, (each) => this.outside(each)) : value) as Value;
  }

  private fields(value: Record<string, unknown>, within: (each: unknown) => unknown): object {
    const isObject = typeof value.kind === "string" && isRecord(value.metadata);
    return Object.fromEntries(
      Object.entries(value).map(([key, each]) => {
        if (isObject && IDENTITY.has(key)) return [key, each];
        return [key, isObject && key === "metadata" ? this.metadata(each as object) : within(each)];
      }),
    );
  }

  private add(real: string, fake: string): void {
    // An empty value is no secret, and a handler may check whether it is empty.
    if (real !== "" && !this.byValue.has(real)) this.byValue.set(real, fake);
  }

  /** A Secret whose values are fakes. A value that was not learnt gets the fake of its own place. */
  private secret(secret: Manifest): Manifest {
    const { data: _, stringData: __, apiVersion, kind, metadata, ...rest } = secret;
    const data = Object.entries(secretDataOf(secret)).map(([key, encoded]) => {
      const real = typeof encoded === "string" ? decoded(encoded) : "";
      return [key, real === "" ? "" : inBase64(this.byValue.get(real) ?? fakeOf(secret, key))];
    });
    return {
      ...{ apiVersion, kind, metadata: this.metadata(withoutLastApplied(metadata)) },
      ...this.inside(rest),
      ...(data.length > 0 && { data: Object.fromEntries(data) }),
    };
  }

  private metadata<Metadata extends object>(metadata: Metadata): Metadata {
    const fields = Object.entries(metadata).map(([key, each]) => [
      key,
      IDENTITY.has(key) ? each : this.inside(each),
    ]);
    return Object.fromEntries(fields) as Metadata;
  }

  private text(text: string): string {
    // Every second part is a fake, in which nothing is replaced. A regular expression of all texts could be too large.
    let parts = text.split(FAKE_PARTS);
    for (const [real, fake] of this.replacements)
      parts = parts.flatMap((part, index) =>
        index % 2 === 1
          ? [part]
          : part.split(real).flatMap((open, nth) => (nth === 0 ? [open] : [fake, open])),
      );
    return parts.join("");
  }
}

function decoded(encoded: string): string {
  return Buffer.from(encoded, "base64").toString("latin1");
}

function inBase64(value: string | Buffer): string {
  return Buffer.from(value as string).toString("base64");
}

/** The forms that a value may have in a text: plain, without the line break at the end of a file, and in base64. */
function formsOf(latin1: string, fake: string): (readonly [real: string, fake: string])[] {
  const bytes = Buffer.from(latin1, "latin1");
  const text = bytes.toString("utf8");
  const whole = [inBase64(bytes), inBase64(fake)] as const;
  if (text.includes("\ufffd")) return [whole];
  const trimmed = text.trim();
  // Plain, as in a JSON text, and as in a URL.
  const written = [text, trimmed, JSON.stringify(trimmed).slice(1, -1), encodeURIComponent(trimmed)];
  return [
    whole,
    [inBase64(trimmed), inBase64(fake)],
    ...written.map((each): readonly [string, string] => [each, fake]),
  ];
}
