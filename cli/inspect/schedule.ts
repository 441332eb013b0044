import type { Operator } from "../../runtime/cli";

/** The complaint about a schedule that an operator does not have. */
export function unknownSchedule(
  { name, schedules = {} }: Pick<Operator, "name" | "schedules">,
  due: string,
): string {
  const known = Object.keys(schedules).join(", ");
  return known === ""
    ? `${name} has no schedules.`
    : `${name} has no schedule ${due}. Its schedules: ${known}.`;
}
