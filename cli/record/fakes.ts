import { isRecord } from "../../runtime/base/json";
import { isSecretKind, secretDataOf } from "../../runtime/base/kinds";
import { type Manifest, withoutLastApplied } from "../../runtime/base/objects";
import {
  bytesOfText,
  ENCODINGS,
  type FoundValue,
  formsOf,
  newWork,
  type Operator,
  replaced,
  SecretValues,
  textOfBytes,
} from "../../runtime/cli";
import { FAKES, fakeOf } from "../diff/secretMask";

/** The fields that identify an object are not secret, even if a Secret has the same word as a value. */
const IDENTITY: ReadonlySet<string> = new Set(["apiVersion", "kind", "name", "namespace"]);

/** How often a text is looked at again. A value may overlap another one. */
const MOST_LOOKS = 100;
/** Takes the place of a text that may contain values. */
const WITHHELD = "withheld by argosy record";

/**
 * Replaces the values of Secrets by fakes everywhere: in the Secrets, and in every other text.
 *
 * Guarantee (tests/unit/recordFakes.test.ts): the result of {@link inside} contains no learnt value. A Secret contains none at
 * all. Other texts contain none of 6 or more characters, in no form that the engine masks. The same value has the same fake
 * everywhere, so that a handler which compares two values gets the same result as in the cluster. The same Secrets give the same
 * fakes.
 *
 * Caveat: a half of a value is not recognized: see {@link withoutMade}. Keys of maps stay, and so do the fields that identify an
 * object.
 */
export class Fakes {
  /** The fakes by the real values, with each byte as a character. */
  private readonly byValue = new Map<string, string>();
  /** What is looked for, and what takes its place. */
  private readonly byForm = new Map<string, string>();
  private readonly forms = new SecretValues();

  /** @param fake makes the fakes */
  constructor(private readonly fake = fakeOf) {}

  /** Learns the values of a Secret. The first Secret that has a value names the value's fake. */
  learn(secret: Manifest): void {
    for (const [key, encoded] of Object.entries(secretDataOf(secret))) {
      if (typeof encoded === "string") this.add(encoded, this.fake(secret, key));
    }
  }

  /** What a handler gets instead of the variables of `secretEnv`. */
  environment({ secretEnv }: Pick<Operator, "secretEnv">): Record<string, string> {
    const fakes = Object.entries(secretEnv).map(([name, { secret, key }]) => {
      const origin = { apiVersion: "v1", kind: "Secret", metadata: { name: secret } };
      return [name, this.fake(origin, key)];
    });
    return Object.fromEntries(fakes);
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

  private add(encoded: string, fake: string): void {
    const real = decoded(encoded);
    // An empty value is no secret, and a handler may check whether it is empty.
    if (real === "" || this.byValue.has(real)) return;
    this.byValue.set(real, fake);
    for (const form of formsOf(encoded).filter((each) => !this.byForm.has(each))) {
      this.byForm.set(form, form === encoded ? inBase64(fake) : fake);
      this.forms.addValue(form);
    }
  }

  /** A Secret whose values are fakes. A value that was not learnt gets the fake of its own place. */
  private secret(secret: Manifest): Manifest {
    const { data: _, stringData: __, apiVersion, kind, metadata, ...rest } = secret;
    const data = Object.entries(secretDataOf(secret)).map(([key, encoded]) => {
      const real = typeof encoded === "string" ? decoded(encoded) : "";
      return [key, real === "" ? "" : inBase64(this.byValue.get(real) ?? this.fake(secret, key))];
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

  private text(whole: string): string {
    return textOfBytes(this.bytes(bytesOfText(whole)));
  }

  private bytes(whole: string): string {
    let text = whole;
    for (let look = 0; look < MOST_LOOKS; look++) {
      const found = this.forms.in(text, newWork());
      if (!found) break;
      const spans = found.filter(isOpen).map(({ reading, span, value }) => {
        const outside = reading.outside(span);
        const said = text.slice(outside.from, outside.to);
        return { ...outside, instead: this.encoded(said) ?? this.byForm.get(value) ?? "" };
      });
      if (spans.length === 0) return text;
      text = replaced(text, spans);
    }
    return WITHHELD;
  }

  /** The same base64 or hexadecimal digits with fakes in what they say. Undefined if a text is neither, or says no value so. */
  private encoded(text: string): string | undefined {
    const letters = text.replace(/[\s=]/g, "");
    for (const { name, pattern, ...group } of ENCODINGS) {
      if (text.replace(pattern, "") !== "") continue;
      for (let skipped = 0; skipped < group.letters; skipped++) {
        const said = Buffer.from(letters.slice(skipped), name).toString("latin1");
        const shown = this.bytes(said);
        if (shown === said) continue;
        // Everything from the first group that changes is written again.
        const same = [...said].findIndex((byte, at) => byte !== shown[at]);
        const groups = Math.floor((same < 0 ? said.length : same) / group.bytes);
        const written = Buffer.from(shown.slice(groups * group.bytes), "latin1").toString(name);
        const isPadded = text.endsWith("=") || (letters.length - skipped) % group.letters === 0;
        const end = isPadded ? written : written.replace(/=+$/, "");
        return (
          letters.slice(0, skipped + groups * group.letters) +
          (/[-_]/.test(text) ? end.replaceAll("+", "-").replaceAll("/", "_") : end)
        );
      }
    }
    return undefined;
  }
}

/** Whether a value is no part of a fake. */
function isOpen({ reading: { bytes }, span: { from, to } }: FoundValue): boolean {
  const fakes = [...bytes.matchAll(FAKES)];
  return !fakes.some(({ index, 0: fake }) => from < index + fake.length && index < to);
}

function decoded(encoded: string): string {
  return Buffer.from(encoded, "base64").toString("latin1");
}

function inBase64(value: string | Buffer): string {
  return Buffer.from(value as string).toString("base64");
}
