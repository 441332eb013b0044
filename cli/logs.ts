import { runnerNameOf } from "../components/manifests/names";
import { isRecord, readJson } from "../runtime/json/json";
import { type KubernetesClient, PODS } from "../runtime/kubernetes/client";
import { formatName, type KubernetesObject } from "../runtime/kubernetes/objects";
import { HttpTransport } from "../runtime/kubernetes/transport";
import { identityIn, identityOf } from "../runtime/names";
import { compareTexts } from "../runtime/text/compareTexts";
import { CommandError, EXIT_CODES, UsageError } from "./commandError";
import { installedOperators, tellLeftOut, unreadableError } from "./inspect/installed";
import { followLogs, type LogSource, type PodLine, readLog, sourcesOf } from "./inspect/podLog";
import { type InstalledOperator, noneHandles } from "./inspect/readInstalled";
import { withCluster } from "./inspect/session";
import { findTarget, type NamespaceOptions } from "./inspect/target";
import type { ClusterOptions } from "./openCluster";
import { print, progress, type Style, safe, styleFor } from "./terminal";

const NOTHING_INSTALLED =
  "No operator is installed in this cluster. argosy dev prints its operators' logs in its own terminal.";

/** @see logs */
export interface LogsOptions extends ClusterOptions, NamespaceOptions {
  readonly follow?: true;
  readonly tail: number;
  readonly json?: true;
}

/** The containers whose logs are of interest: the engine's, and the handler's in either form. */
const CONTAINERS = ["runner", "handler", "main", "resync"];

/**
 * `argosy logs OPERATOR|KIND/NAME`: shows the logs of an operator's engine and handler, or the engine's lines about one object.
 *
 * @throws UsageError for an operator that is not installed
 */
export async function logs(of: string, options: LogsOptions): Promise<number> {
  return withCluster(options, async (client, connection) => {
    const { operator, object } = await wanted(client, of, options);
    const look = async () => sourcesOf(await podsOf(client, operator), CONTAINERS);
    const style = styleFor(process.stdout);
    const show = (line: PodLine) => {
      if (object !== undefined && objectIn(line.text) !== object) return;
      print(options.json ? JSON.stringify(line) : formatLine(line, style));
    };
    const transport = new HttpTransport(connection);
    try {
      if (options.follow) await followLogs(transport, look, { tail: options.tail, onTrouble }, show);
      else await showOnce(transport, await look(), options.tail, operator, show);
    } finally {
      transport.close();
    }
    return EXIT_CODES.fine;
  });
}

function onTrouble(what: string, error: Error): void {
  progress(`${what} cannot be read now, and will be tried again: ${error.message}`);
}

async function wanted(
  client: KubernetesClient,
  of: string,
  options: LogsOptions,
): Promise<{ operator: InstalledOperator; object?: string }> {
  if (of.includes("/")) {
    const target = await findTarget(client, of, options);
    const [operator] = target.operators;
    if (operator) return { operator, object: formatName(target.name) };
    tellLeftOut(target);
    throw new CommandError(noneHandles(target.resource.kind, target));
  }
  const { operators, unreadable, unseen } = await installedOperators(client);
  const found = operators.filter(({ name, installation }) => of === name || of === `${installation}.${name}`);
  const [operator] = found;
  if (operator && found.length === 1) return { operator };
  const unread = unreadable.find(({ name }) => name === (identityIn(of)?.name ?? of));
  if (!operator && unread) throw unreadableError(unread);
  const names = operator ? found.map(identityOf) : [...operators, ...unreadable].map(({ name }) => name);
  if (operator)
    throw new UsageError(`There are several operators ${of}. Name one of them: ${names.join(", ")}.`);
  const known = names.length > 0 ? ` Known operators: ${names.join(", ")}.` : "";
  if (unseen)
    throw new CommandError(
      `Whether there is an operator ${of} in this cluster is not known, because ${unseen}.${known}`,
    );
  throw new UsageError(known ? `There is no operator ${of} in this cluster.${known}` : NOTHING_INSTALLED);
}

async function podsOf(
  client: KubernetesClient,
  { name, home }: InstalledOperator,
): Promise<KubernetesObject[]> {
  const labelSelector = `app.kubernetes.io/name=${name},app.kubernetes.io/managed-by=argosy`;
  return client.listAll(PODS, { namespace: home, labelSelector });
}

/** Shows all lines in the order of time, because the containers of a pod write at the same time. */
async function showOnce(
  transport: HttpTransport,
  sources: readonly LogSource[],
  tail: number,
  { name, home }: InstalledOperator,
  show: (line: PodLine) => void,
): Promise<void> {
  if (sources.length === 0) {
    throw new CommandError(
      `The operator ${name} has no pod in the namespace ${home}. See why: kubectl -n ${home} describe deployment ${runnerNameOf(name)}`,
    );
  }
  const lines: PodLine[] = [];
  await Promise.all(
    sources.map((source) =>
      readLog(transport, source, { tail, follow: false }, (line) => void lines.push(line)),
    ),
  );
  for (const line of lines.sort((one, other) => compareTexts(one.time ?? "", other.time ?? ""))) show(line);
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
