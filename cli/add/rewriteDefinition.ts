// A change of an operator's definition, and what it changes in the operator's rights.
import { readFileSync } from "node:fs";
import path from "node:path";
import type { Document } from "yaml";
import { buildHandlerRoles, buildRoles } from "../../components/manifests/operator/rbac";
import { check } from "../../definition/checks";
import { definitionFile } from "../../definition/definitionFile";
import { loadOperator } from "../../definition/loadOperator";
import { displayPath, OperatorError, Problems } from "../../definition/problems";
import { DEFINITION } from "../../definition/schema";
import type { Operator } from "../../runtime/cli";
import { CommandError } from "../common/commandError";
import { keepingLineEnds } from "../common/lineEnds";
import { rewriteFile } from "../common/rewriteFile";
import { print } from "../common/terminal";
import { type HeldLock, takeLock } from "../controlPlane/lock";
import { DEFAULT_HOME } from "../inspect/installed";
import { compareRights, objectsOf, placeOf, type Right, rightsIn } from "../rights/rights";
import { onlyDocument } from "./yamlEntry";

/**
 * Rewrites an operator's definition, and prints which rights its accounts gain and lose.
 *
 * @param change gives the new text, whose lines end with LF
 * @param done what was done, in a sentence
 * @throws OperatorError if the definition would be wrong, CommandError while another process rewrites it, and what `change` throws.
 *   The file is then as before
 */
export async function rewriteDefinition(
  operator: Operator,
  change: (text: string, document: Document, file: string) => string,
  done: string,
): Promise<void> {
  const file = definitionFile(operator.folder);
  const lock = await lockOf(file);
  try {
    const rights = rewrite(operator, file, change);
    print(`${displayPath(file)}: ${done}`);
    print(rights);
  } finally {
    await lock.release();
  }
}

/** @returns what the change does to the operator's rights. If it throws, the file is as before */
function rewrite(
  operator: Operator,
  file: string,
  change: (text: string, document: Document, file: string) => string,
): string {
  const text = readFileSync(file, "utf8");
  const changed = keepingLineEnds(text, (lines) => change(lines, onlyDocument(lines), displayPath(file)));
  checkText(changed, file);
  rewriteFile(file, changed);
  try {
    return rightsChanged(operator, loadOperator(operator.folder));
  } catch (error) {
    // Other files of the operator may show that the definition is wrong.
    rewriteFile(file, text);
    if (!(error instanceof OperatorError)) throw error;
    const hint = "Nothing was written. The lines are those that the file would have.";
    throw new CommandError(`${error.message}\n${hint}`, { cause: error });
  }
}

/** Two commands that read the same text would each write it without the other's change. */
async function lockOf(file: string): Promise<HeldLock> {
  const { dir, base } = path.parse(file);
  try {
    const lock = await takeLock(path.join(dir, `.${base}.lock`));
    if (!("owner" in lock)) return lock;
    const who = lock.owner === undefined ? "another process" : `process ${lock.owner}`;
    throw new CommandError(`${displayPath(file)}: ${who} changes it now. Run this command again.`);
  } catch (error) {
    // The user knows the folder, and not the lock.
    throw error instanceof CommandError ? error : Object.assign(error as Error, { path: dir });
  }
}

/** @throws OperatorError with the same messages as for a mistake in the file */
function checkText(text: string, file: string): void {
  const problems = new Problems();
  check(DEFINITION, onlyDocument(text).toJS(), problems.in(file));
  if (problems.found) throw problems.toError();
}

function rightsChanged(before: Operator, after: Operator): string {
  const [was, is] = [before, after].map((operator) =>
    rightsIn([...buildRoles(operator, DEFAULT_HOME), ...buildHandlerRoles(operator, DEFAULT_HOME)]),
  );
  const { gained, lost } = compareRights(was ?? [], is ?? []);
  const parts = [...listed("gain", gained), ...listed("lose", lost)];
  return parts.length === 0 ? "The rights of the operator's accounts stay the same." : parts.join("\n");
}

function listed(verb: string, rights: readonly Right[]): string[] {
  if (rights.length === 0) return [];
  const lines = rights.map((right) => `  ${right.verbs.join(", ")} ${objectsOf(right)} ${placeOf(right)}`);
  return [`The operator's accounts ${verb}:\n${lines.join("\n")}`];
}
