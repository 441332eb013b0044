import { CommanderError } from "commander";

/** The exit codes of a command. */
export const EXIT_CODES = {
  /** The command succeeded. */
  fine: 0,
  /** The command failed. */
  failed: 1,
  /** Its arguments, or its working folder, are wrong. Nothing was done. */
  usage: 2,
  /** The command worked, and found something: a problem, or that something would change or break. */
  found: 3,
} as const;

/** The options of a {@link CommandError}. */
export interface CommandErrorOptions extends ErrorOptions {
  /** The process's exit code. @default 1 */
  readonly exitCode?: number;
}

/** A command that ends in a foreseen way. Its message is printed without a stack. An empty message is not printed. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  readonly exitCode: number;

  constructor(message: string, { exitCode = EXIT_CODES.failed, ...options }: CommandErrorOptions = {}) {
    super(message, options);
    this.exitCode = exitCode;
  }
}

/** Arguments that a command refuses, with exit code 2. */
export class UsageError extends CommandError {
  override readonly name = "UsageError";

  constructor(message: string, options?: ErrorOptions) {
    super(message, { ...options, exitCode: EXIT_CODES.usage });
  }
}

/**
 * The names of errors whose message says everything that a user needs. A user's program may have its own copy of this package,
 * with other classes.
 */
export const FORESEEN_ERRORS = [
  "OperatorError",
  "KubeconfigError",
  "ContainerEngineError",
  "ApiError",
  "ApiUnreachableError",
  "DeadlineError",
  "UnknownKindError",
] as const;

/** One of {@link FORESEEN_ERRORS}. */
export type ForeseenError = (typeof FORESEEN_ERRORS)[number];

const FORESEEN: ReadonlySet<string> = new Set(FORESEEN_ERRORS);

/** Errors of the operating system that the user can do something about. */
const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "its file system is read-only",
  ENOSPC: "no space is left on its file system",
  ENOTDIR: "a part of its path is a file",
  EEXIST: "a file is in its place",
  EISDIR: "a folder is in its place",
  EBUSY: "it is in use, or mounted by itself, as a file of a container may be",
};

/** The error as a {@link CommandError} if the user can do something about it. Any other error stays as it is. */
export function asCommandError(error: unknown): unknown {
  // Commander has already printed the error. It also treats help as an error, with the code 0.
  if (error instanceof CommanderError) {
    return new CommandError("", { exitCode: error.exitCode === 0 ? EXIT_CODES.fine : EXIT_CODES.usage });
  }
  if (!(error instanceof Error) || error instanceof CommandError) return error;
  if (FORESEEN.has(error.name)) return new CommandError(error.message, { cause: error });
  const { path, syscall } = error as NodeJS.ErrnoException;
  if (syscall === "uv_os_homedir")
    return new CommandError("This user has no home folder. Set the variable HOME.", {
      cause: error,
    });
  const complaint = complaintOfSystem(error);
  if (complaint === undefined || path === undefined) return error;
  return new CommandError(`${path} cannot be used: ${complaint}.`, { cause: error });
}

/** Why the operating system refused a file or a folder. Undefined for any other error. */
export function complaintOfSystem(error: unknown): string | undefined {
  const { code = "", syscall } = error as NodeJS.ErrnoException;
  // Node gives this code if it cannot create a folder with its parents, even on a read-only file system.
  if (code === "ENOENT" && syscall === "mkdir") return "it cannot be created";
  return SYSTEM_ERRORS[code];
}
