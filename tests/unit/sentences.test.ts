import { SENTENCES } from "../../runtime/kubernetes/sentences";
import { withinCpuTime } from "../support/cpuTime";

/** The API server quotes what the author of an object wrote, up to the length of an object. */
const LENGTH = 500_000;

describe("a sentence of the API server", () => {
  for (const [name, sentence] of Object.entries(SENTENCES))
    it(`is looked for in no more time than the message is long, whatever the author of an object wrote: ${name}`, () => {
      const parts = sentence.source.match(/[A-Za-z :'"]{4,}/g) ?? [];
      withinCpuTime(2_000, () => {
        for (const text of parts) sentence.test(`"${text.repeat(Math.ceil(LENGTH / text.length))}"`);
      });
    });
});
