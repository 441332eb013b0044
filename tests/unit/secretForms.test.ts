import assert from "node:assert/strict";
import fc from "fast-check";
import type { KubernetesObject } from "../../runtime/base/objects";
import { CUT } from "../../runtime/base/text";
import { Scrubber } from "../../runtime/secrets/scrubber";
import { FORMS, ODD_VALUES, secretValues } from "./support/secretForms";

/** What a form writes around a value that is masked where it stands, in characters. */
const AROUND = 8;
/** What may be left of a value before a cut, in characters: five of its bytes, each written as an escape, and a half of one. */
const MOST_LEFT = 45;

function scrubberOf(value: string): Scrubber {
  const metadata = { name: "s", uid: "u", resourceVersion: "1" };
  const data = { key: Buffer.from(value).toString("base64") };
  const secret: KubernetesObject = { apiVersion: "v1", kind: "Secret", metadata, data };
  const scrubber = new Scrubber();
  scrubber.learn([secret]);
  return scrubber;
}

function assertMasked(value: string, text: string, frame: string): void {
  const shown = scrubberOf(value).text(`= ${text} =`);
  assert.match(shown, /\*\*\*/, text);
  assert.ok(shown.length <= frame.length + AROUND + 4, `${shown} of ${text}`);
}

const KNOWN = ODD_VALUES.map((value) => [value, scrubberOf(value)] as const);

describe("a value of a Secret", () => {
  it("is masked where YAML or a shell goes on with it in the next line", () => {
    for (const text of ['key: "a-long-\\\n  p\\u00e4ssword"', "curl -u a-long-\\\r\npässword"])
      assert.match(scrubberOf("a-long-pässword").text(text), /^(key: "|curl -u )\*\*\*"?$/);
  });

  for (const [name, form] of Object.entries(FORMS)) {
    it(`is masked, and nothing else, whatever its characters are: ${name}`, () => {
      fc.assert(fc.property(secretValues(), (value) => assertMasked(value, form(value), form(""))));
    });

    it(`is masked at both ends of a text: ${name}`, () => {
      fc.assert(
        fc.property(secretValues(), (value) => {
          const shown = scrubberOf(value).text(form(value));
          assert.ok(shown.includes("***") && shown.length <= form("").length + AROUND, shown);
        }),
      );
    });

    it(`is masked in any other form of that form: ${name}`, () => {
      for (const [value, scrubber] of KNOWN)
        for (const outer of Object.values(FORMS))
          assert.match(scrubber.text(outer(form(value))), /\*\*\*/, outer(form(value)));
    });

    it(`has no beginning left before a cut: ${name}`, () => {
      fc.assert(
        fc.property(secretValues(), fc.nat(), (value, at) => {
          const text = form(value);
          const shown = scrubberOf(value).text(text.slice(0, at % (text.length + 1)) + CUT);
          assert.ok(shown.length <= form("").length + MOST_LEFT, shown);
        }),
      );
    });
  }
});
