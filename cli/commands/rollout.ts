import { z } from "zod";
import { runnerNameOf } from "../../components/manifests/names";
import { identityOf, leaseNameOf } from "../../runtime/base/names";
import type { KubernetesObject } from "../../runtime/base/objects";
import {
  builtIn,
  ifRefused,
  isApiError,
  type KubernetesClient,
  LEASES,
  ROLLOUT_ANNOTATION,
  type RolloutState,
  resumedText,
  rolloutStateIn,
  rolloutTextIn,
  undoneText,
  WORKFLOW_TEMPLATES,
  workflowTemplateOf,
} from "../../runtime/cli";
import { asTyped } from "../common/asTyped";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { clusterOptions, type JsonPrinter, jsonOption } from "../common/options";
import { print, safe } from "../common/terminal";
import { describeRollout } from "../inspect/explanation";
import { installedOperators, tellLeftOut } from "../inspect/installed";
import { leaseOf } from "../inspect/look";
import type { InstalledOperator } from "../inspect/readInstalled";
import { withCluster } from "../inspect/session";
import { LASTING_WAY, undoOf } from "../inspect/undoRollout";

const ACTIONS = ["status", "resume", "undo"];
const DEPLOYMENTS = builtIn("apps/v1", "Deployment");
const REPLICA_SETS = builtIn("apps/v1", "ReplicaSet");
const CONFIG_MAPS = builtIn("v1", "ConfigMap");

const STATE = z.strictObject({
  operator: z.string(),
  installation: z.string(),
  program: z.string().describe("What tells the program that is rolled out from every other."),
  former: z
    .string()
    .optional()
    .describe("The last program whose roll-out came to its end before. Left out if none is known."),
  stage: z
    .enum(["first", "rest", "done"])
    .describe("first: a share of the objects is asked. rest: all others too. done: every object was asked."),
  since: z.string().describe("When it began, or was last resumed, as RFC 3339."),
  halted: z
    .strictObject({ at: z.string().describe("Since when, as RFC 3339."), why: z.string() })
    .optional()
    .describe("Left out unless it is halted."),
  accepted: z
    .literal(true)
    .optional()
    .describe("A person has resumed it: deletions of children are accepted."),
  undone: z.literal(true).optional().describe("A person undoes it."),
});

/** An operator with a staged roll-out. */
interface Staged {
  readonly operator: InstalledOperator;
  /** What its Lease says. */
  readonly text: string;
  readonly state: RolloutState;
}

/** `argosy rollout status|resume|undo [OPERATOR]`. */
export default command({
  description:
    "Shows how far the staged roll-outs of operators have come, resumes one that has halted, or brings the version before back.",
  arguments: [
    ["<action>", "status, resume or undo"],
    ["[operator]", "the operator's name (default: every operator, or the only one that has halted)"],
  ],
  options: [...clusterOptions(), jsonOption(STATE, "print a line of JSON for each operator")],
  async run(action, name, options) {
    if (!ACTIONS.includes(action)) throw new UsageError(`${safe(action)} is none of ${ACTIONS.join(", ")}.`);
    return withCluster(options, async (client) => {
      const staged = await stagedOperators(client, name);
      if (action === "status") return status(staged, options.json);
      const chosen = onlyOne(staged, action);
      const { text, words } = await (action === "resume" ? resume : undo)(client, chosen);
      if (options.json) options.json(lineOf({ ...chosen, state: rolloutStateIn(text) ?? chosen.state }));
      else print(words);
      return EXIT_CODES.fine;
    });
  },
});

async function stagedOperators(client: KubernetesClient, name: string | undefined): Promise<Staged[]> {
  const installed = await installedOperators(client);
  if (name === undefined) tellLeftOut(installed);
  const isMeant = (each: InstalledOperator) =>
    name === undefined || [each.name, identityOf(each)].includes(name);
  const operators = installed.operators.filter(isMeant);
  if (name !== undefined && operators.length === 0)
    throw new CommandError(`There is no operator ${safe(name)} in this cluster.`);
  const found = operators.map(async (operator): Promise<Staged | undefined> => {
    const text = rolloutTextIn(await leaseOf(client, operator)) ?? "";
    const state = rolloutStateIn(text);
    return state && { operator, text, state };
  });
  return (await Promise.all(found)).filter((each) => each !== undefined);
}

function status(staged: readonly Staged[], json?: JsonPrinter<typeof STATE>): number {
  for (const { operator, state } of staged) {
    const words = describeRollout(state) ?? `done since ${state.since}`;
    const { name } = operator;
    if (json) {
      json(lineOf({ operator, state }));
      continue;
    }
    print(safe(`${identityOf(operator)}: ${words}`));
    if (state.halted)
      print(`  ${asTyped(`rollout undo ${name}`)}, or ${asTyped(`rollout resume ${name}`)}, ends the halt`);
  }
  if (staged.length === 0 && !json)
    print("No operator has a staged roll-out. Give it the field rollout in operator.yaml.");
  return staged.some(({ state }) => state.halted) ? EXIT_CODES.found : EXIT_CODES.fine;
}

function lineOf({ operator, state }: Pick<Staged, "operator" | "state">): z.infer<typeof STATE> {
  return { operator: operator.name, installation: operator.installation, ...state };
}

/** The operator that is named, or else the only one that has halted. */
function onlyOne(staged: readonly Staged[], action: string): Staged {
  const meant = staged.length === 1 ? staged : staged.filter(({ state }) => state.halted);
  const [one, ...others] = meant;
  if (!one) throw new CommandError("No staged roll-out has halted.");
  if (others.length === 0) return one;
  const names = meant.map(({ operator }) => identityOf(operator)).join(", ");
  throw new UsageError(
    `Several roll-outs have halted: ${names}. Name one: ${asTyped(`rollout ${action}`)} OPERATOR`,
  );
}

/** What the Lease says then, and what has been done. */
interface Done {
  readonly text: string;
  readonly words: string;
}

async function resume(client: KubernetesClient, staged: Staged): Promise<Done> {
  const text = resumedText(staged.text, new Date());
  if (text === undefined)
    throw new CommandError(`The roll-out of ${identityOf(staged.operator)} has not halted.`);
  await write(client, staged, text);
  const words = `The roll-out of ${identityOf(staged.operator)} goes on. It halts again if further objects fail.`;
  return { text, words };
}

async function undo(client: KubernetesClient, staged: Staged): Promise<Done> {
  const { operator, state, text } = staged;
  const { home: namespace, name } = operator;
  const deployment = await client.get(DEPLOYMENTS, { namespace, name: runnerNameOf(name) });
  if (!deployment)
    throw new CommandError(`The Deployment of ${identityOf(operator)} is gone. ${LASTING_WAY}`);
  const all = await client.listAll(REPLICA_SETS, { namespace });
  const isIts = ({ metadata }: KubernetesObject) =>
    metadata.ownerReferences?.some(({ uid }) => uid === deployment.metadata.uid);
  const template = { namespace, name: workflowTemplateOf(name) };
  const workflowTemplate =
    operator.execution === "pod" ? await client.get(WORKFLOW_TEMPLATES, template) : undefined;
  const made = undoOf({ state, deployment, replicaSets: all.filter(isIts), workflowTemplate });
  for (const needed of made.needed) {
    if (await client.get(CONFIG_MAPS, { namespace, name: needed })) continue;
    throw new CommandError(
      `The roll-out cannot be undone, because the ConfigMap ${needed} of the former version is gone: it had another version of Argosy. ${LASTING_WAY}`,
    );
  }
  for (const manifest of made.configMaps)
    await client.create(CONFIG_MAPS, manifest).catch(ifRefused(409, undefined));
  const change = async (dryRun: boolean) => {
    if (made.workflowSpec !== undefined)
      await client.jsonPatch(
        WORKFLOW_TEMPLATES,
        template,
        [{ op: "replace", path: "/spec", value: made.workflowSpec }],
        { dryRun },
      );
    const replaced = [{ op: "replace", path: "/spec/template", value: made.template }] as const;
    await client.jsonPatch(DEPLOYMENTS, deployment.metadata, replaced, { dryRun });
  };
  // If it is refused, no runner may be left with the permission to delete children.
  await change(true);
  // Before the former version comes, which may then delete what the new one has created.
  const undone = undoneText(text) ?? text;
  await write(client, staged, undone);
  await change(false);
  const words = `${identityOf(operator)} goes back to its former version, first for the objects that the new one was asked about. ${asTyped(`rollout status ${name}`)} shows how it goes on. The next pulumi up that changes the operator replaces it: revert the commit before that.`;
  return { text: undone, words };
}

/** Writes into the Lease, unless it says something else by now. */
async function write(client: KubernetesClient, { operator, text }: Staged, value: string): Promise<void> {
  const path = `/metadata/annotations/${ROLLOUT_ANNOTATION.replace("/", "~1")}`;
  try {
    await client.jsonPatch(LEASES, { namespace: operator.home, name: leaseNameOf(operator) }, [
      { op: "test", path, value: text },
      { op: "replace", path, value },
    ]);
  } catch (error) {
    if (!isApiError(error, 422)) throw error;
    throw new CommandError("The roll-out has gone on in this moment. Look again, and repeat the command.");
  }
}
