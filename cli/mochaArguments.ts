import { existsSync } from "node:fs";
import path from "node:path";
import projectConfiguration from "../.mocharc.json";
import { PROJECT_FOLDER } from "./tools";

/** What `.mocharc.json` holds. */
export type MochaConfiguration = Readonly<Record<string, string | number | boolean | readonly string[]>>;

/**
 * The arguments for mocha: with test files among `args` only those are run, where mocha by itself would add them to
 * the ones of its configuration.
 *
 * @param configuration the configuration that mocha would find. @default this project's
 * @param isFile whether an argument names a file. @default below the project's folder
 */
export function mochaArguments(
  args: readonly string[],
  configuration: MochaConfiguration = projectConfiguration,
  isFile: (argument: string) => boolean = (argument) => existsSync(path.join(PROJECT_FOLDER, argument)),
): string[] {
  if (!args.some(isFile)) return [...args];
  const { spec: _, ...others } = configuration;
  const options = Object.entries(others).flatMap(([name, value]) =>
    value === true ? [`--${name}`] : [`--${name}`, String(value)],
  );
  return ["--no-config", ...options, ...args];
}
