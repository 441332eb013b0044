import { ARGOSY_VERSION } from "../../components/package";
import { finalizersOf } from "../../runtime/base/names";
import { conditionsIn, formatName, type ObjectName } from "../../runtime/base/objects";
import {
  type ApiResource,
  builtIn,
  ifRefused,
  isApiError,
  type KubernetesClient,
  readArray,
  resourceOf,
  WORKFLOWS,
} from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { writtenAs } from "../common/objectName";
import { referenceTo } from "../common/objectReference";
import { devReaders } from "../inspect/inDev";
import { installedOperators } from "../inspect/installed";
import { leaderIn, leaseOf } from "../inspect/look";
import {
  AFTER_DELETION,
  type InstalledOperator,
  SEE_ALL,
  type UnreadableOperator,
} from "../inspect/readInstalled";
import { type RunnerProblem, runnerOf, whyNoneReady, whyNotRolledOut } from "../inspect/runner";
import { checkParts } from "./checkParts";
import { type Finding, fine, missing, warning } from "./checkup";

const NAMESPACES = builtIn("v1", "Namespace");
/** How long a deletion may take before it counts as held up, in milliseconds. */
const HELD_MS = 60_000;

/**
 * The parts that a cluster has, and its problems. Nothing is changed. The output says which parts the account may not read.
 * @param program the names of the program's operators
 * @param isNamed whether the user asks about this cluster in particular, so that it is a problem if no operator can be seen
 */
export async function examineCluster(
  client: KubernetesClient,
  program: readonly string[],
  now = new Date(),
  isNamed = false,
): Promise<Finding[]> {
  const { gitVersion } = await client.read<{ gitVersion: string }>("/version");
  const { operators, unreadable, unseen } = await installedOperators(client);
  const installed = [...operators, ...unreadable].map(({ name }) => name);
  const absent = program.filter((name) => !installed.includes(name));
  return [
    fine("Kubernetes", gitVersion),
    await checkArgo(
      client,
      "Argo Workflows",
      WORKFLOWS.plural,
      "no runs are recorded, replayed or in pods of their own",
    ),
    await checkArgo(client, "Argo Events", "eventsources", "runners see changes only by their own watches"),
    ...(await Promise.all(operators.map((each) => examineOperator(client, each, now)))).flat(),
    ...(await checkParts(client, operators)),
    ...unreadable.map(examineUnreadable),
    ...(unseen
      ? [examineUnseen(unseen, isNamed && installed.length === 0)]
      : installed.length > 0
        ? absent.map(notDeployed)
        : [await withoutOperators(client)]),
    ...(await readable("namespaces", () => examineNamespaces(client, now))),
  ];
}

/** Who may run operators in a cluster in which none is installed. */
async function withoutOperators({ server }: KubernetesClient): Promise<Finding> {
  const found = await Promise.all(devReaders(server).map((each) => each.read()));
  const names = found.flatMap((each) => each?.operators ?? []).map(({ name }) => name);
  if (names.length > 0) return fine("operators", `argosy dev runs ${names.join(", ")}`);
  return warning(
    "operators",
    "none is installed",
    `Deploy them with pulumi up, or run them here with argosy dev (this is Argosy ${ARGOSY_VERSION}). ${AFTER_DELETION}`,
  );
}

/** The findings, or that the account may not read what they are about. */
async function readable(what: string, read: () => Promise<readonly Finding[]>): Promise<readonly Finding[]> {
  try {
    return await read();
  } catch (error) {
    if (!isApiError(error, 403)) throw error;
    const seen = `cannot be read with the rights of this kubeconfig: ${error.message}`;
    return [warning(what, seen, "Ask for this right, or use an account that has it.")];
  }
}

/** There may be operators that the account may not see. */
function examineUnseen(unseen: string, isProblem: boolean): Finding {
  const seen = `are not all known, because ${unseen}`;
  return (isProblem ? missing : warning)("operators", seen, SEE_ALL);
}

async function checkArgo(
  client: KubernetesClient,
  what: string,
  plural: string,
  without: string,
): Promise<Finding> {
  try {
    const resources = await readArray<ApiResource>(client, "/apis/argoproj.io/v1alpha1", "resources");
    if (resources.some(({ name }) => name === plural)) return fine(what, "its kinds are installed");
  } catch (error) {
    if (!isApiError(error, 404)) throw error;
  }
  return warning(
    what,
    `is not installed, so ${without}`,
    `Nothing is missing if the program sets it to "none". Otherwise set it to "install". ${AFTER_DELETION}`,
  );
}

/** Checks an operator: its runner, its leader, and objects whose deletion it holds up. */
async function examineOperator(
  client: KubernetesClient,
  operator: InstalledOperator,
  now: Date,
): Promise<Finding[]> {
  const { name, installation, argosyVersion, home, customResource } = operator;
  const what = `operator ${name}`;
  const runner = await readable(`the runner of ${what} in ${home}`, async () => [
    await checkRunner(client, operator, what, now),
  ]);
  const held = await readable(`the objects of ${what}`, async () =>
    (await heldObjects(client, operator, now)).map((object) => ({
      ...missing(
        what,
        `the deletion of ${formatName(object)} is held up`,
        `See why: ${asTyped(`explain ${writtenAs(customResource.kind, object)}`)}`,
      ),
      object: referenceTo(resourceOf(customResource), object),
    })),
  );
  const about = { operator: name, installation, argosyVersion };
  return [...runner, ...held].map((each) => ({ ...each, ...about }));
}

function examineUnreadable({ name, home, argosyVersion, complaint, remedy }: UnreadableOperator): Finding {
  const finding = missing(`operator ${name}`, `is in the namespace ${home}. It was ${complaint}`, remedy);
  return { ...finding, operator: name, argosyVersion };
}

/** An operator of the program that the cluster does not have. Perhaps it is not deployed there yet, or is not meant to be. */
function notDeployed(name: string): Finding {
  const seen = "is in the program, and was not found in this cluster";
  const remedy = `Deploy it with pulumi up, if this cluster should have it. ${AFTER_DELETION}`;
  return { ...warning(`operator ${name}`, seen, remedy), operator: name };
}

async function checkRunner(
  client: KubernetesClient,
  operator: InstalledOperator,
  what: string,
  now: Date,
): Promise<Finding> {
  const found = await runnerOf(client, operator);
  const unready = whyNoneReady(operator, found);
  if (unready) return problem(what, unready);
  const leader = leaderIn(await leaseOf(client, operator));
  if (leader === undefined)
    return missing(what, "has ready runners, but none leads", `See why: ${asTyped(`logs ${operator.name}`)}`);
  const seen = `${found?.status?.readyReplicas} ready, led by ${leader}`;
  const stuck = found && whyNotRolledOut(operator, found, (time) => isOld(time, now));
  return stuck ? problem(what, { ...stuck, seen: `${seen}, but ${stuck.seen}` }) : fine(what, seen);
}

function problem(what: string, { isWarning, seen, remedy }: RunnerProblem): Finding {
  return (isWarning ? warning : missing)(what, seen, remedy);
}

/** Objects whose deletion has taken longer than a minute, and that wait for this operator. */
async function heldObjects(
  client: KubernetesClient,
  operator: InstalledOperator,
  now: Date,
): Promise<ObjectName[]> {
  const own = finalizersOf(operator);
  const held: ObjectName[] = [];
  const resource = resourceOf(operator.customResource);
  await client
    .list(resource, { metadataOnly: true }, (page) => {
      for (const { metadata } of page) {
        const { deletionTimestamp, finalizers = [] } = metadata;
        if (deletionTimestamp === undefined || !isOld(deletionTimestamp, now)) continue;
        if (finalizers.some((each) => own.includes(each))) held.push(metadata);
      }
    })
    // An operator without its CRD has no objects.
    .catch(ifRefused(404, undefined));
  return held;
}

/** Namespaces whose deletion does not end, with the messages of Kubernetes' own conditions. */
async function examineNamespaces(client: KubernetesClient, now: Date): Promise<Finding[]> {
  return (await client.listAll(NAMESPACES, {}))
    .filter(
      ({ metadata: { deletionTimestamp } }) =>
        deletionTimestamp !== undefined && isOld(deletionTimestamp, now),
    )
    .map(({ metadata: { name }, status }) => {
      const why = conditionsIn(status).find(
        (each) =>
          each.status === "True" &&
          /^Namespace(FinalizersRemaining|ContentRemaining|Deletion)/.test(each.type),
      );
      return {
        ...missing(
          `namespace ${name}`,
          `is being deleted, and the deletion does not end${why ? `: ${why.message}` : ""}`,
          "Find out what holds up the objects in it. If Argo's controllers were deleted first: " +
            "https://github.com/argosy-dev/argosy/blob/main/docs/tasks/uninstall.md#if-the-controllers-were-deleted-first",
        ),
        object: referenceTo(NAMESPACES, { name }),
      };
    });
}

function isOld(time: string, now: Date): boolean {
  return now.getTime() - Date.parse(time) > HELD_MS;
}
