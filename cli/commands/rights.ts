import { z } from "zod";
import type { Manifest } from "../../runtime/base/objects";
import { EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { formatReference } from "../common/objectReference";
import { jsonOption, option, stackOptions } from "../common/options";
import { findProject } from "../common/project";
import { print, type Style, styleFor } from "../common/terminal";
import { manifestsOf } from "../render/manifests";
import { manifestsAt } from "../render/manifestsAt";
import { renderStack } from "../render/renderStack";
import {
  accountsOf,
  compareRights,
  objectsOf,
  placeOf,
  RIGHT,
  RIGHTS_CHANGE,
  type Right,
  rightsIn,
} from "../rights/rights";

/**
 * `argosy rights [OPERATOR]`: the rights of every account of the program, or of one operator, from the manifests that `pulumi up`
 * would deploy. With `--against`, the rights that were gained or lost since a git ref.
 *
 * @returns the exit code: 3 if an account gains a right
 * @throws UsageError for an operator without accounts
 */
export default command({
  description:
    "Lists the rights of the accounts of a program, or of one operator, from the manifests that pulumi up would deploy. " +
    "With --against, it lists the rights that were gained or lost since a git ref, whose program is run with the packages " +
    "that are installed now, except for those of the repository itself. The exit code is 3 if a right was gained.",
  arguments: [["[operator]", "only the accounts of this operator (default: all)"]],
  options: [
    option("--against <ref>", "the git ref to compare with: a branch, a tag or a commit"),
    ...stackOptions(),
    jsonOption(z.union([z.strictObject({ rights: z.array(RIGHT).readonly() }), RIGHTS_CHANGE])),
  ],
  async run(operator, { against, stack, platform, project, json }) {
    const folder = findProject(project);
    const rendered = async (place: string) => manifestsOf(await renderStack(place, stack, platform));
    const now = await rendered(folder);
    const style = styleFor(process.stdout);
    if (against === undefined) {
      const found = ofOperator(rightsIn(now), [now], operator);
      if (json) json({ rights: found });
      else print(formatRights(found, style));
      return EXIT_CODES.fine;
    }
    const before = await manifestsAt(folder, against, rendered);
    const [was, is] = [before, now].map((each) => ofOperator(rightsIn(each), [before, now], operator));
    const { gained, lost } = compareRights(was ?? [], is ?? []);
    if (json) json({ gained, lost });
    else if (gained.length + lost.length === 0) print(`No account gains or loses a right since ${against}.`);
    else {
      if (gained.length > 0) print(`${style("bold", "gained")}\n${formatRights(gained, style, "+ ")}`);
      if (lost.length > 0) print(`${style("bold", "lost")}\n${formatRights(lost, style, "- ")}`);
    }
    return gained.length > 0 ? EXIT_CODES.found : EXIT_CODES.fine;
  },
});

/** The rights of one operator. It may exist only before or only after the change. */
function ofOperator(
  all: readonly Right[],
  programs: readonly (readonly Manifest[])[],
  operator: string | undefined,
): readonly Right[] {
  if (operator === undefined) return all;
  const accounts = programs.flatMap((manifests) => accountsOf(manifests, operator));
  if (accounts.length === 0) {
    throw new UsageError(`The program has no operator ${operator}. argosy rights shows every account.`);
  }
  return all.filter(({ account }) => accounts.includes(formatReference(account)));
}

/** A block for each account, a line for each of its rights. */
function formatRights(all: readonly Right[], style: Style, mark = ""): string {
  const widths = [placeOf, objectsOf].map((column) =>
    Math.max(0, ...all.map((right) => column(right).length)),
  );
  const lines: string[] = [];
  let account = "";
  for (const right of all) {
    const of = formatReference(right.account);
    if (of !== account) lines.push(style("bold", of));
    account = of;
    const columns = [placeOf, objectsOf].map((column, index) => column(right).padEnd(widths[index] ?? 0));
    lines.push(`  ${mark}${columns.join("  ")}  ${right.verbs.join(", ")}`);
  }
  return lines.join("\n");
}
