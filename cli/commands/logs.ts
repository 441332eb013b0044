import { setTimeout as sleep } from "node:timers/promises";
import { runnerNameOf } from "../../components/manifests/names";
import { isRecord, readJson } from "../../runtime/base/json";
import { identityOf } from "../../runtime/base/names";
import { formatName, groupOf, type KubernetesObject } from "../../runtime/base/objects";
import { compareTexts } from "../../runtime/base/text";
import { HttpTransport, type KubernetesClient, PODS } from "../../runtime/cli";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { checkNames } from "../common/objectName";
import { flag, objectOptions, optionWithDefault, wholeNumber } from "../common/options";
import { print, progress, type Style, safe, styleFor } from "../common/terminal";
import { type DevLines, type DevOperator, type DevReader, devReaders } from "../inspect/inDev";
import { installedOperators, tellLeftOut, unreadableError } from "../inspect/installed";
import { followLogs, type LogSource, POD_LINE, type PodLine, readLog, sourcesOf } from "../inspect/podLog";
import { type InstalledOperator, identityIn, noneHandles } from "../inspect/readInstalled";
import { withCluster } from "../inspect/session";
import { findTarget, type NamespaceOptions } from "../inspect/target";

/** The containers whose logs are of interest: the engine's, and the handler's in either form. */
const CONTAINERS = ["runner", "handler", "main"];

/**
 * `argosy logs OPERATOR|KIND/NAME`: shows the logs of an operator's engine and handler, or the engine's lines about one object.
 *
 * @throws UsageError for an operator that is not installed
 */
export default command({
  description:
    "Shows the logs of all pods of an operator, from the engine and the handler, in the order of time. For KIND/NAME it " +
    "shows only the engine's lines about this object.",
  arguments: [["<of>", "an operator's name, or KIND/NAME"]],
  options: [
    flag("-f, --follow", "follow the logs until Ctrl-C, including those of new pods"),
    optionWithDefault("--tail <lines>", "how many of the last lines of each container", 100, wholeNumber),
    ...objectOptions(POD_LINE, "print each line as JSON"),
  ],
  async run(of, options) {
    checkNames([of]);
    return withCluster(options, async (client, connection) => {
      const readers = devReaders(client.server);
      const first = await Promise.all(readers.map((each) => each.read()));
      const inDev = first.flatMap((each) => each?.operators ?? []);
      const { operators, installed, object } = await wanted(client, of, inDev, options);
      const look = async () => (installed ? sourcesOf(await podsOf(client, installed), CONTAINERS) : []);
      const style = styleFor(process.stdout);
      const show = (line: PodLine) => {
        if (object !== undefined && objectIn(line.text) !== object) return;
        if (options.json) options.json(line);
        else print(formatLine(line, style));
      };
      const linesOf = (found: DevLines | undefined): PodLine[] =>
        (found?.lines ?? [])
          .filter(({ operator }) => operators.includes(operator))
          .map(({ number, operator, ...line }) => line);
      const earlier = CONTAINERS.flatMap((container) =>
        tailOf(
          first.flatMap(linesOf).filter((line) => line.container === container),
          options.tail,
        ),
      );
      const transport = new HttpTransport(connection);
      try {
        if (!options.follow) {
          const sources = await look();
          if (operators.length === 0 && installed) checkPods(sources, installed);
          await showOnce(transport, sources, options.tail, earlier, show);
        } else {
          for (const line of inOrder(earlier)) show(line);
          await Promise.all([
            ...(installed ? [followLogs(transport, look, { tail: options.tail, onTrouble }, show)] : []),
            ...readers.map((reader) => followDev(reader, (found) => linesOf(found).forEach(show))),
          ]);
        }
      } finally {
        transport.close();
      }
      return EXIT_CODES.fine;
    });
  },
});

/** How often `argosy dev` is asked for new lines, in milliseconds. */
const LOOK_MS = 500;

/** Reads the lines of one `argosy dev` until it has ended. */
async function followDev(reader: DevReader, onLines: (found: DevLines) => void): Promise<void> {
  for (;;) {
    await sleep(LOOK_MS);
    const found = await reader.read();
    if (!found) return progress("argosy dev has ended.");
    onLines(found);
  }
}

function tailOf<T>(lines: readonly T[], tail: number): T[] {
  return tail === 0 ? [] : lines.slice(-tail);
}

function inOrder(lines: readonly PodLine[]): PodLine[] {
  return [...lines].sort((one, other) => compareTexts(one.time ?? "", other.time ?? ""));
}

function onTrouble(what: string, error: Error): void {
  progress(`${what} cannot be read now, and will be tried again: ${error.message}`);
}

/** What the lines are of. */
interface Wanted {
  /** The names of the operators that `argosy dev` runs. */
  readonly operators: readonly string[];
  readonly installed?: InstalledOperator | undefined;
  readonly object?: string;
}

async function wanted(
  client: KubernetesClient,
  of: string,
  inDev: readonly DevOperator[],
  options: NamespaceOptions,
): Promise<Wanted> {
  if (of.includes("/")) {
    const target = await findTarget(client, of, options);
    const { kind, apiVersion } = target.resource;
    const isOfKind = (each: DevOperator) => each.kind === kind && each.group === groupOf(apiVersion);
    const operators = inDev.filter(isOfKind).map(({ name }) => name);
    const [installed] = target.operators;
    if (installed || operators.length > 0) return { operators, installed, object: formatName(target.name) };
    tellLeftOut(target);
    throw new CommandError(noneHandles(kind, target));
  }
  const { operators, unreadable, unseen } = await installedOperators(client);
  const ours = inDev.filter(({ name }) => name === of).map(({ name }) => name);
  const found = operators.filter(({ name, installation }) => of === name || of === `${installation}.${name}`);
  const [installed] = found;
  if (found.length <= 1 && (installed || ours.length > 0)) return { operators: ours, installed };
  const unread = unreadable.find(({ name }) => name === (identityIn(of)?.name ?? of));
  if (!installed && unread) throw unreadableError(unread);
  if (installed) {
    const names = found.map(identityOf).join(", ");
    throw new UsageError(`There are several operators ${of}. Name one of them: ${names}.`);
  }
  const names = [...new Set([...operators, ...unreadable, ...inDev].map(({ name }) => name))].sort();
  const known = names.length > 0 ? ` Known operators: ${names.join(", ")}.` : "";
  if (unseen)
    throw new CommandError(
      `Whether there is an operator ${of} in this cluster is not known, because ${unseen}.${known}`,
    );
  throw new UsageError(
    known
      ? `There is no operator ${of} in this cluster.${known}`
      : "No operator is installed in this cluster.",
  );
}

async function podsOf(
  client: KubernetesClient,
  { name, home }: InstalledOperator,
): Promise<KubernetesObject[]> {
  const labelSelector = `app.kubernetes.io/name=${name},app.kubernetes.io/managed-by=argosy`;
  return client.listAll(PODS, { namespace: home, labelSelector });
}

/** @throws CommandError if there are none */
function checkPods(sources: readonly LogSource[], { name, home }: InstalledOperator): void {
  if (sources.length > 0) return;
  throw new CommandError(
    `The operator ${name} has no pod in the namespace ${home}. See why: kubectl -n ${home} describe deployment ${runnerNameOf(name)}`,
  );
}

/** Shows all lines in the order of time, because the containers of a pod write at the same time. */
async function showOnce(
  transport: HttpTransport,
  sources: readonly LogSource[],
  tail: number,
  others: readonly PodLine[],
  show: (line: PodLine) => void,
): Promise<void> {
  const lines: PodLine[] = [...others];
  await Promise.all(
    sources.map((source) =>
      readLog(transport, source, { tail, follow: false }, (line) => void lines.push(line)),
    ),
  );
  for (const line of inOrder(lines)) show(line);
}

/** The fields of a line that the engine wrote. Undefined for any other line. */
function fieldsIn(text: string): Record<string, unknown> | undefined {
  if (!text.startsWith("{")) return undefined;
  try {
    const fields = readJson(text);
    return isRecord(fields) && typeof fields["message"] === "string" ? fields : undefined;
  } catch {
    return undefined;
  }
}

function objectIn(text: string): unknown {
  return fieldsIn(text)?.["object"];
}

/** A line for people. Lines that the engine did not write stay as they are. */
export function formatLine({ container, time = "", text }: PodLine, style: Style): string {
  const fields = fieldsIn(text);
  const at = style("dim", time.slice(11, 19) || "        ");
  if (!fields) return `${at}  ${style("dim", `${container}|`)} ${safe(text)}`;
  const { level, message, object, reason, attempt, run } = fields;
  const words = [
    ...(object === undefined ? [] : [style("bold", safe(String(object)))]),
    ...(reason === undefined
      ? []
      : [style("red", `${safe(String(reason))}${Number(attempt) > 1 ? ` (attempt ${attempt})` : ""}:`)]),
    level === "warn" ? style("yellow", safe(String(message))) : safe(String(message)),
    ...(run === undefined ? [] : [style("dim", safe(String(run)))]),
  ];
  return `${at}  ${words.join("  ")}`;
}
