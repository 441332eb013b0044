import { spawnSync } from "node:child_process";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { commandOnPath } from "../../definition/commandOnPath";
import { programOf } from "../../definition/handlerProgram";
import { didYouMean } from "../../definition/nearest";
import { displayPath } from "../../definition/problems";
import { isRecord } from "../../runtime/base/json";
import { type HandlerQuestion, type HandlerTransport, type Operator, resourceOf } from "../../runtime/cli";
import { CommandError, UsageError } from "../common/commandError";
import { readObjectName } from "../common/objectName";
import { shellWord } from "../common/shellWord";
import { checkPort, freePorts, isFree } from "../controlPlane/ports";
import { localHandler } from "../handler/localHandler";
import { answersTo } from "../inspect/target";
import {
  DEBUG_HOST,
  type Debugger,
  debuggedCommand,
  debuggerOf,
  NODE_ATTACHED,
  USUAL_PORTS,
} from "./debuggedCommand";
import { DebuggedHandler } from "./debuggedHandler";
import { DebugTransport } from "./debugTransport";
import { launchConfiguration, writeLaunchJson } from "./launchJson";

/** The object whose handler is debugged. */
export interface DebugTarget {
  /** The operator's folder. */
  readonly folder: string;
  readonly operator: string;
  readonly kind: string;
  /** Undefined if the kind has no namespaces. */
  readonly namespace: string | undefined;
  readonly name: string;
}

/** What {@link Debugging} works with. */
export interface DebuggingOptions {
  readonly target: DebugTarget;
  readonly port: number;
  /** Receives the standard error of the debugged process while it has no request. */
  readonly onLog: (text: string) => void;
  /** Called with a sentence when the debugged process ends or is replaced. */
  readonly onNotice: (notice: string) => void;
}

const CHECK_MS = 60_000;

/**
 * The object that KIND/NAME names, by the operators of the working tree. Their kinds need not be served yet.
 * @param namespace the object's, if its kind has namespaces
 * @throws UsageError if no operator here handles such a kind
 */
export function debugTarget(text: string, operators: readonly Operator[], namespace: string): DebugTarget {
  const { kind: word, name } = readObjectName(text, `--debug ${text}`);
  const operator = operators.find(({ customResource }) => answersTo(resourceOf(customResource), word));
  if (!operator) {
    const kinds = operators.map(({ customResource }) => customResource.kind.toLowerCase());
    const advice = didYouMean(word, kinds, `Known kinds: ${kinds.join(", ")}.`);
    throw new UsageError(`--debug ${text}: no operator here handles ${word}. ${advice}`);
  }
  const { kind, namespaced } = operator.customResource;
  const place = namespaced ? namespace : undefined;
  return { folder: operator.folder, operator: operator.name, kind, namespace: place, name };
}

/**
 * The port on which a debugger listens.
 * @param wanted 0 means the usual port of editors, or a free port if another program has that one
 * @throws UsageError if another program has the wanted port
 */
export async function debugPort(wanted: number, kind: Debugger): Promise<number> {
  if (wanted !== 0) {
    await checkPort(wanted, "--debug-port");
    return wanted;
  }
  if (await isFree(USUAL_PORTS[kind])) return USUAL_PORTS[kind];
  const [free = 0] = await freePorts(1);
  return free;
}

/**
 * The debugger for an operator's handler.
 * @throws CommandError if its program cannot be debugged, or lacks debugpy
 */
export function checkedDebugger(operator: Operator): Debugger {
  const { command } = programOf(operator, LOOPS_FOLDER);
  const kind = debuggerOf(command);
  if (kind === undefined)
    throw new CommandError(
      `The handler of ${operator.name} is the program ${command[0]}. argosy dev --debug supports handlers in Python, ` +
        `JavaScript and TypeScript, and programs whose command begins with python3 or node. For others, attach your own ` +
        `debugger to the processes of argosy dev.`,
    );
  if (kind === "debugpy") checkDebugpy(operator, command[0] ?? "python3");
  return kind;
}

function checkDebugpy({ env, folder }: Operator, python: string): void {
  const environment = { ...process.env, ...env };
  const { status } = spawnSync(python, ["-c", "import debugpy"], {
    cwd: folder,
    env: environment,
    stdio: "ignore",
    timeout: CHECK_MS,
  });
  if (status === 0) return;
  const found = commandOnPath(python, environment, folder) ?? python;
  const typed = shellWord(python);
  throw new CommandError(
    `debugpy, the debugger for Python, is not installed for ${found}. Install it: ${typed} -m pip install debugpy. ` +
      "If pip refuses to, use a virtual environment, and start argosy dev in the same shell: " +
      `${typed} -m venv .venv && . .venv/bin/activate && pip install debugpy`,
  );
}

/** One object's handler under a debugger, as long as `argosy dev` runs. */
export class Debugging {
  private current: DebuggedHandler | undefined;

  constructor(private readonly options: DebuggingOptions) {}

  /** Whether an operator is the one that handles the object. */
  isFor({ folder }: Pick<Operator, "folder">): boolean {
    return folder === this.options.target.folder;
  }

  /**
   * The handler processes of the operator: one with a debugger for the object, and others for all other objects.
   * @param others the processes without a debugger
   * @throws CommandError if the handler cannot be debugged any more
   */
  transport(
    operator: Operator,
    env: Readonly<Record<string, string>>,
    others: HandlerTransport,
  ): HandlerTransport {
    const kind = checkedDebugger(operator);
    this.current?.close();
    const { port, onLog, onNotice } = this.options;
    // Without this, Python writes a warning about its frozen modules into each log.
    const own = { PYDEVD_DISABLE_FILE_VALIDATION: "1", ...env };
    const started = (command: readonly string[]) => debuggedCommand(command, port)?.command ?? command;
    const where = `${DEBUG_HOST}:${port}`;
    const debugged = new DebuggedHandler({
      transport: localHandler(operator, own, started),
      onLog,
      onNotice,
      onWait: (object) =>
        onNotice(
          `${object}: the handler has a request. It waits for a debugger to attach at ${where}, or a debugger has stopped it.`,
        ),
      attached: kind === "node" ? NODE_ATTACHED : undefined,
    });
    debugged.start();
    this.current = debugged;
    const isDebugged = (line: string) => this.isAbout(JSON.parse(line));
    return new DebugTransport({ others, debugged, isDebugged, atOnce: operator.concurrency });
  }

  /** How long the handler may take. There is no limit while a person uses the debugger. */
  timeoutMs(operator: Operator, question: HandlerQuestion): number {
    return this.isAbout(question) ? Number.POSITIVE_INFINITY : operator.timeoutSeconds * 1000;
  }

  /** Applies an edit of the operator's handler. Edits of other operators change nothing. */
  renew(operator: Operator): void {
    if (this.isFor(operator)) this.current?.renew();
  }

  /** Gives the handler its new token as soon as it has answered. */
  renewToken(): void {
    this.current?.renew("the handler gets its new token");
  }

  /** Ends the debugged process. */
  close(): void {
    this.current?.close();
    this.current = undefined;
  }

  private isAbout(request: unknown): boolean {
    const object = isRecord(request) ? request["object"] : undefined;
    const metadata = isRecord(object) ? object["metadata"] : undefined;
    if (!isRecord(object) || !isRecord(metadata)) return false;
    const { kind, name, namespace } = this.options.target;
    return object["kind"] === kind && metadata["name"] === name && metadata["namespace"] === namespace;
  }
}

/**
 * Instructions to attach a debugger, as lines. Writes `.vscode/launch.json`.
 * @param folder the program's folder, which is open in the editor
 */
export function attachInstructions(
  target: DebugTarget,
  kind: Debugger,
  port: number,
  folder: string,
): string[] {
  const entry = launchConfiguration(target.operator, kind, port);
  const result = writeLaunchJson(folder, entry);
  const place = [target.namespace, target.name].filter(Boolean).join("/");
  const how = kind === "node" ? "Node's inspector" : "debugpy";
  return [
    `${target.kind} ${place} is handled by one process that waits for a debugger at ${DEBUG_HOST}:${port} (${how}).`,
    ...(result.kind === "left"
      ? [
          `${displayPath(result.file)} was not changed: ${result.why}. Add this to its configurations:`,
          JSON.stringify(entry, undefined, 2),
        ]
      : [`VS Code: Run and Debug, "${entry.name}" (${displayPath(result.file)} ${wordOf(result.kind)})`]),
  ];
}

function wordOf(kind: "written" | "unchanged"): string {
  return kind === "written" ? "was written" : "already has it";
}
