import fc from "fast-check";
import { ApiError, ApiUnreachableError } from "../../../runtime/kubernetes/errors";
import type { FakeCluster } from "./fakeCluster";

/** What becomes of a write. "lost": it is done, and its answer does not arrive. */
const FATES = ["done", "refused", "immutable", "busy", "conflict", "lost"] as const;

/** What becomes of one write after another. */
export type Fates = readonly (typeof FATES)[number][];

/** The fates of some writes. Most are done. */
export const fates: fc.Arbitrary<Fates> = fc.array(fc.constantFrom("done", "done", ...FATES), {
  maxLength: 12,
});

const ERRORS: Readonly<Partial<Record<Fates[number], Error>>> = {
  refused: new ApiError(422, { kind: "Status", message: "no" }, "PATCH"),
  immutable: new ApiError(
    422,
    {
      kind: "Status",
      message: "immutable",
      details: { causes: [{ reason: "FieldValueForbidden", field: "data" }] },
    },
    "PATCH",
  ),
  busy: new ApiError(503, {}, "PATCH"),
  conflict: new ApiError(409, {}, "PATCH"),
};
const LOST = new ApiUnreachableError("PATCH", new Error("cut"));

/** Lets the writes to a cluster have these fates. Those that come later are done. */
export class Faults {
  private left: Fates[number][] = [];

  constructor(cluster: FakeCluster) {
    cluster.beforeRequest = (step) => {
      if (step.startsWith("ask ") || this.left[0] === "lost") return;
      const error = ERRORS[this.left.shift() ?? "done"];
      if (error) throw error;
    };
    cluster.lost.get = () => {
      if (this.left[0] !== "lost") return undefined;
      this.left.shift();
      return LOST;
    };
  }

  /** Does something while writes have these fates. */
  async during<Result>(next: Fates, work: () => Promise<Result>): Promise<Result> {
    this.left = [...next];
    try {
      return await work();
    } finally {
      this.left = [];
    }
  }
}
