import { createHash } from "node:crypto";
import { isRecord } from "../../runtime/base/json";
import { isSecretKind, secretDataOf } from "../../runtime/base/kinds";
import { type KubernetesObject, type Manifest, withoutLastApplied } from "../../runtime/base/objects";
import { MASK, Scrubber } from "../../runtime/cli";
import type { FieldChange } from "./changedFields";

/**
 * Keeps the values of Secrets from a handler, and out of all output about its answer.
 *
 * A handler gets a fake instead of each value. The fake is the same each time, made only of the Secret's name and the key. If the
 * handler answers a Secret with a fake in it, the real value replaces the fake before the API server is asked, so a value that is
 * only passed on is no change. It replaces the fake nowhere else, because otherwise a real value would get into messages and
 * fields.
 *
 * Guarantee (tests/unit/cliDiff.test.ts): no value is in the handler's request, nor in fields that are shown. What an answer has
 * made of a value, in whatever form, is found by a second question with other fakes: see {@link SecretMade}.
 */
export class SecretMask {
  private readonly values = new Map<string, Buffer>();
  private readonly scrubber = new Scrubber();

  /**
   * @param isOff gives handlers the real values. Even then they are not shown
   * @param fake makes the fakes
   */
  constructor(
    private readonly isOff = false,
    private readonly fake = fakeOf,
  ) {}

  /** Whether something was given that has a value. */
  hasGiven = false;

  /** The value that a handler gets for an object, for several objects, or for anything else. */
  given<Value>(value: Value): Value {
    if (Array.isArray(value)) return value.map((each) => this.given(each)) as Value;
    if (!isRecord(value) || !isSecretKind(value)) return value;
    const secret = value as unknown as KubernetesObject;
    this.learn(secret);
    this.hasGiven ||= Object.keys(secretDataOf(secret)).length > 0;
    return (this.isOff ? secret : this.masked(secret)) as unknown as Value;
  }

  /** Never shows the values of this Secret. */
  learn(secret: Manifest): void {
    // This run never ends, so the Secret is never forgotten.
    this.scrubber.learn([secret], "preview");
  }

  /** A child as the handler intends it: with the real values in a Secret. */
  restored(child: Manifest): Manifest {
    if (!isSecretKind(child)) return child;
    const data = Object.entries(secretDataOf(child)).map(([key, encoded]) => [
      key,
      typeof encoded === "string" ? this.restoredValue(encoded) : encoded,
    ]);
    const { stringData: _, ...rest } = child;
    const whole = data.length > 0 ? { ...rest, data: Object.fromEntries(data) } : rest;
    this.learn(whole as Manifest);
    return whole as Manifest;
  }

  /**
   * Fields as they may be shown.
   * @param isHidden whether nothing of a field is shown but that it would change
   */
  fields(changes: readonly FieldChange[], isHidden: (path: string) => boolean): FieldChange[] {
    return changes.map(({ path, ...values }) => {
      const shown = Object.entries(values).map(([key, value]) => [
        key,
        isHidden(path) ? MASK : this.scrubber.inside(value),
      ]);
      return { path: this.text(path), ...Object.fromEntries(shown) };
    });
  }

  /** A text as it may be shown. */
  text(text: string): string {
    return this.scrubber.text(text, Number.POSITIVE_INFINITY);
  }

  private masked(secret: KubernetesObject): KubernetesObject {
    const data = Object.entries(secretDataOf(secret)).map(([key, encoded]) => {
      const fake = this.fake(secret, key);
      this.values.set(fake, Buffer.from(String(encoded), "base64"));
      return [key, Buffer.from(fake).toString("base64")];
    });
    return {
      ...secret,
      metadata: withoutLastApplied(secret.metadata),
      ...(secret["data"] !== undefined && { data: Object.fromEntries(data) }),
    };
  }

  private restoredValue(encoded: string): string {
    // Each byte is a character, so that a value need be no text.
    const text = Buffer.from(encoded, "base64").toString("latin1");
    if (!text.includes(FAKE)) return encoded;
    const whole = text.replace(FAKES, (fake) => this.values.get(fake)?.toString("latin1") ?? fake);
    return Buffer.from(whole, "latin1").toString("base64");
  }
}

const FAKE = "argosy-fake-";
/** Every fake in a text. */
export const FAKES = /argosy-fake-[0-9a-f]{20}/g;

/** The fake of one value of a Secret. It says nothing about the value. */
export function fakeOf(secret: Manifest, key: string): string {
  return FAKE + hashOf(secret, key).slice(0, 20);
}

/** Another fake. No character and no length of it is like that of the first, so that no part of both is the same. */
export function otherFakeOf(secret: Manifest, key: string): string {
  return hashOf(secret, key).replace(/./g, (digit) => "GHJKLMNPQRSTUVWX"[Number.parseInt(digit, 16)] ?? "");
}

function hashOf({ metadata: { namespace = "", name } }: Manifest, key: string): string {
  return createHash("sha256")
    .update(JSON.stringify([namespace, name, key]))
    .digest("hex");
}
