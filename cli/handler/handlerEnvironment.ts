import { reportOn } from "../../definition/definitionFile";
import { Problems } from "../../definition/problems";
import type { Operator } from "../../runtime/cli";

/**
 * The environment variables that a handler gets on this machine. Variables that come from a Secret in a cluster are taken from
 * the author's environment, with the same names.
 *
 * @throws OperatorError naming the missing variables
 */
export function handlerEnvironment(
  operator: Operator,
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const problems = new Problems();
  const report = reportOn(operator, problems);
  const result: Record<string, string> = { ...operator.env };
  for (const [name, { secret, key }] of Object.entries(operator.secretEnv)) {
    const value = environment[name];
    if (value !== undefined) result[name] = value;
    else {
      const complaint = `comes from key ${key} of Secret ${secret} in a cluster, but is not set here`;
      report(`secretEnv.${name}`, complaint, `Export ${name} in this shell.`);
    }
  }
  if (problems.found) throw problems.toError();
  return result;
}
