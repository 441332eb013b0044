import { z } from "zod";
import { OBJECT_REFERENCE } from "../common/objectReference";

/** The schema of a {@link Finding}. */
export const FINDING = z.strictObject({
  what: z.string().describe('The subject: "node", "cluster".'),
  state: z
    .enum(["ok", "warning", "missing"])
    .describe("All is well, there may be a problem, or there is a problem."),
  seen: z.string().describe("The observation."),
  remedy: z.string().optional().describe("The remedy, if anything needs to be done."),
  operator: z.string().optional().describe("The name of the operator that the finding is about."),
  installation: z.string().optional(),
  argosyVersion: z.string().optional().describe("The version of Argosy that deployed the operator."),
  object: OBJECT_REFERENCE.optional().describe("The object that the finding is about."),
});

/** The result of a check. */
export type Finding = Readonly<z.infer<typeof FINDING>>;

/** A check without a problem. */
export function fine(what: string, seen: string): Finding {
  return { what, state: "ok", seen };
}

/** A check that found a missing part that not everyone needs. */
export function warning(what: string, seen: string, remedy: string): Finding {
  return { what, state: "warning", seen, remedy };
}

/** A check that found a problem. */
export function missing(what: string, seen: string, remedy: string): Finding {
  return { what, state: "missing", seen, remedy };
}
