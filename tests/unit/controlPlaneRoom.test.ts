import assert from "node:assert/strict";
import { lackOfRoom } from "../../cli/controlPlane/room";

describe("the room for a control plane", () => {
  const withMebibytes = (left: number) =>
    lackOfRoom("/small", async () => ({ bavail: left * 256, bsize: 4096 }));

  it("is asked for where there is too little, and nothing is said where there is enough", async () => {
    assert.match(
      (await withMebibytes(15)) ?? "",
      /^\/small has room for only 15 MiB: .* set TMPDIR to a folder/,
    );
    assert.equal(await withMebibytes(100), undefined);
  });
});
