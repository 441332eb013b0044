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

const KNOWN = ODD_VALUES.map((value) => [value, scrubberOf(value)] as const);

describe("a value of a Secret", () => {
  it("is masked where YAML or a shell goes on with it in the next line", () => {
    for (const text of ['key: "a-long-\\\n  p\\u00e4ssword"', "curl -u a-long-\\\r\npässword"])
      assert.match(scrubberOf("a-long-pässword").text(text), /^(key: "|curl -u )\*\*\*"?$/);
  });

  for (const [name, form] of Object.entries(FORMS)) {
    it(`is masked, and nothing else, and has no beginning left before a cut, whatever its characters are: ${name}`, () => {
      fc.assert(
        fc.property(secretValues(), fc.nat(), (value, at) => {
          const scrubber = scrubberOf(value);
          const text = form(value);
          // In the middle of a text, and at both ends of one.
          for (const [before, after] of [
            ["= ", " ="],
            ["", ""],
            ["it is ", ", as we know"],
          ] as const) {
            const shown = scrubber.text(before + text + after);
            assert.match(shown, /\*\*\*/, text);
            const around = before.length + after.length + AROUND;
            assert.ok(shown.length <= form("").length + around, `${shown} of ${text}`);
          }
          const cut = scrubber.text(text.slice(0, at % (text.length + 1)) + CUT);
          assert.ok(cut.length <= form("").length + MOST_LEFT, cut);
        }),
      );
    });

    it(`is masked in any other form of that form: ${name}`, () => {
      for (const [value, scrubber] of KNOWN)
        for (const outer of Object.values(FORMS))
          assert.match(scrubber.text(outer(form(value))), /\*\*\*/, outer(form(value)));
    });
  }
});
