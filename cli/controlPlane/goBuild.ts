import { createWriteStream } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { indent, lastLines } from "../common/terminal";
import { linkerFlags, moduleFile, moduleName } from "./goModule";
import { runGuarded } from "./guard";
import type { Program } from "./programs";

const linesShown = 20;

/** The paths of {@link buildProgram}. */
export interface BuildOptions {
  /** The path of the program. The file is created only if the build succeeds. */
  readonly target: string;
  /** Existing folder for temporary files, on the target's file system. A killed compiler leaves some there. */
  readonly workDirectory: string;
  /** The file for all output of Go. */
  readonly log: string;
  /** Kills the compiler. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Builds a program with Go from its published module.
 *
 * @throws if the build fails: with the last lines of Go's output, and the file with all of it
 */
export async function buildProgram(program: Program, options: BuildOptions): Promise<void> {
  const directory = await mkdtemp(join(options.workDirectory, `${program.name}-`));
  await mkdir(dirname(options.log), { recursive: true });
  await rm(options.log, { force: true });
  const go = async (...goArguments: string[]): Promise<void> => {
    const code = await runGuarded("go", goArguments, {
      directory,
      environment: {
        ...process.env,
        GOTOOLCHAIN: "local",
        GOWORK: "off",
        CGO_ENABLED: "0",
        // The compiler spends a fifth of its time on garbage collection, although there is enough memory.
        GOGC: process.env.GOGC ?? "400",
        GOTMPDIR: directory,
      },
      output: createWriteStream(options.log, { flags: "a" }),
      signal: options.signal,
    });
    if (code !== 0) throw await buildError(program, options.log, code);
  };

  const { module, version } = program.release;
  const moduleFilePath = join(directory, "go.mod");
  await writeFile(moduleFilePath, `module ${moduleName}\n`);
  await go("list", "-mod=mod", "-m", "-f", "{{.GoMod}}", `${module}@${version}`);
  const released = /^\S.*\.mod$/m.exec(await readFile(options.log, "utf8"))?.[0];
  if (released === undefined) throw await buildError(program, options.log, 0);
  await writeFile(moduleFilePath, moduleFile(program.release, await readFile(released, "utf8")));

  const built = join(directory, program.name);
  const flags = ["-mod=mod", "-trimpath", "-ldflags", linkerFlags(program.release), "-o", built];
  await go("build", ...flags, program.goPackage);
  await mkdir(dirname(options.target), { recursive: true });
  await rename(built, options.target);
  await rm(directory, { recursive: true });
}

async function buildError(program: Program, log: string, code: number): Promise<Error> {
  const words = indent(lastLines(await readFile(log, "utf8"), linesShown), "  ");
  return new Error(
    `building ${program.name} ${program.release.version} failed (go ended with code ${code}). The whole output is in ` +
      `${log}. Its last lines:\n${words}`,
  );
}
