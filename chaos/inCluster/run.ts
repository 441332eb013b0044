import { setTimeout as pause } from "node:timers/promises";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import type { Fault, LeftOut } from "../fault";
import { generatePlan } from "../generatePlan";
import type { Ground } from "../ground";
import { History } from "../history";
import { Model } from "../model";
import { findDifferences } from "../oracle";
import { type Outcome, perform } from "../perform";
import { persist } from "../persist";
import { Player } from "../player";
import { makeBystanders, takeSnapshot } from "../snapshot";
import { troubleFaults } from "../troubles";
import { Administrator, RESOURCES } from "./administrator";
import { Ledger } from "./ledger";
import { cutByPolicy, cutOnNode, networkFaults } from "./networkFaults";
import { NODE_FAULTS, nodeFaults } from "./nodeFaults";
import { CONTROLLER_NAMESPACE, NAMESPACE, partsOf } from "./parts";
import { podFaults } from "./podFaults";
import { enforcesPolicies } from "./policyTrial";
import { type Execution, operatorOf, Program, resourceOf } from "./program";
import { ChaosStack } from "./stack";

/** What a run of chaos in a cluster is made of. */
export interface ChaosOptions {
  readonly connection: ClusterConnection;
  readonly seed: number;
  /** How many changes in each form; 0 leaves the form out. */
  readonly changes: Readonly<Record<Execution, number>>;
  /** How many names of objects there are in each form. */
  readonly objects: Readonly<Record<Execution, number>>;
  /** Whether the cluster's one node and its control plane are this machine, and we its root. */
  readonly nodeFaults: boolean;
  /** Only kinds of faults in whose name this is. @default all */
  readonly only?: string;
  /** Leave everything there where something is lost. */
  readonly keep: boolean;
  /** The folder of this program. */
  readonly project: string;
  /** Node. */
  readonly image: string;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

/** The cluster has something already that the run would change and take away. */
export class OccupiedError extends Error {}

const STACK = "chaos";
const OWN = "argosy-chaos";
const LEDGER = `${OWN}-ledger`;
const FAULT_SECONDS = [3, 30] as const;
const NAMESPACES_GONE_MS = 240_000;
const READY_MS = 120_000;

/** How the two forms differ in pace. */
const PACE: Readonly<
  Record<Execution, { changesPerRound: number; changesPerSecond: number; patienceMs: number }>
> = {
  // The longest pause of a retry is five minutes (runtime/queue.ts), and a resync comes every ten.
  resident: { changesPerRound: 80, changesPerSecond: 10, patienceMs: 330_000 },
  // A resync comes every minute, and a run may wait for its pod.
  pod: { changesPerRound: 15, changesPerSecond: 1, patienceMs: 600_000 },
};

/**
 * Installs this program with an operator of each form, plays a plan for each while things go wrong, and takes all away.
 * @throws OccupiedError where the cluster is not empty enough; the signal's reason
 */
export async function runInCluster(options: ChaosOptions): Promise<Partial<Record<Execution, Outcome>>> {
  const { progress, signal, keep } = options;
  const executions = (["resident", "pod"] as const).filter((execution) => options.changes[execution] > 0);
  const administrator = new Administrator(options.connection);
  const ledger = new Ledger(administrator, LEDGER);
  const grounds = new Map(executions.map((execution) => [execution, groundOf(administrator, execution)]));
  const namespaces = [LEDGER, ...[...grounds.values()].flatMap(({ namespace, far }) => [namespace, far])];
  await assertEmpty(administrator, [NAMESPACE, CONTROLLER_NAMESPACE, ...namespaces]);
  const { image } = options;
  const program = new Program(options.project, { stack: STACK, executions, ledger: ledger.url, image });
  const stack = new ChaosStack(program, STACK);
  const outcomes: Partial<Record<Execution, Outcome>> = {};
  try {
    for (const name of namespaces) {
      const { apiVersion, kind } = RESOURCES.namespace;
      await administrator.apply(RESOURCES.namespace, { apiVersion, kind, metadata: { name } });
    }
    await ledger.start(image);
    progress("pulumi up");
    await stack.up(progress);
    signal.throwIfAborted();
    await persist(() => ledger.read(), { patienceMs: READY_MS, signal });
    for (const [execution, ground] of grounds) {
      const run = { ...options, administrator, ledger, program, stack, execution, ground };
      outcomes[execution] = await playForm(run);
    }
    return outcomes;
  } finally {
    if (keep && Object.values(outcomes).some(({ lost }) => lost.length > 0)) {
      progress(`left as it is. To take it away: ${stack.destroyCommand}`);
      progress(`kubectl delete namespace ${namespaces.join(" ")}`);
    } else {
      await cleanUp(administrator, namespaces, program, stack, progress);
    }
    administrator.close();
  }
}

interface Form extends ChaosOptions {
  readonly execution: Execution;
  readonly ground: Ground;
  readonly administrator: Administrator;
  readonly ledger: Ledger;
  readonly program: Program;
  readonly stack: ChaosStack;
}

async function playForm(form: Form): Promise<Outcome> {
  const { execution, ground, seed, signal, ledger } = form;
  const { changesPerRound, changesPerSecond, patienceMs } = PACE[execution];
  const progress = (line: string) => form.progress(`${execution}: ${line}`);
  const model = new Model(ground.namespace, ground.far);
  const history = new History();
  const player = new Player({ ground, model, history, patienceMs, signal });
  const { faults, leftOut } = await faultsOf(form, model, player, progress);
  for (const { kind, why } of leftOut) progress(`left out: ${kind}: ${why}`);
  const bystanders = await makeBystanders(ground, operatorOf(execution));
  const plan = generatePlan({
    seed,
    changes: form.changes[execution],
    objects: form.objects[execution],
    calmRounds: 1,
    changesPerRound,
    faults: faults.map(({ kind }) => kind),
    faultSeconds: FAULT_SECONDS,
    mostDelayMs: 200,
  });
  const effects = () => persist(() => ledger.read(), { patienceMs, signal });
  const outcome = await perform(plan, {
    player,
    history,
    faults,
    effects,
    differences: async () => {
      const snapshot = await persist(() => takeSnapshot(ground), { patienceMs, signal });
      return findDifferences(model, snapshot, bystanders, await effects());
    },
    changesPerSecond,
    patienceMs,
    progress,
    signal,
  });
  return { ...outcome, leftOut: [...leftOut, ...outcome.leftOut] };
}

async function faultsOf(
  form: Form,
  model: Model,
  player: Player,
  progress: (line: string) => void,
): Promise<{ faults: readonly Fault[]; leftOut: readonly LeftOut[] }> {
  const { administrator, execution, ledger, program, stack, image } = form;
  const parts = partsOf(administrator, execution);
  const faults = [...podFaults(administrator, parts, execution), ...troubleFaults(player)];
  faults.push({
    kind: "handler: changed, and pulumi up",
    begin: async () => {
      const version = model.version + 1;
      program.renewHandler(execution, version);
      await stack.up((why) => progress(`pulumi up has failed, and is tried again: ${why}`));
      model.version = version;
      return undefined;
    },
  });
  const leftOut: LeftOut[] = [];
  if (form.nodeFaults) {
    faults.push(...nodeFaults(parts, execution));
    faults.push(...networkFaults(administrator, parts, execution, cutOnNode));
  } else {
    leftOut.push(...NODE_FAULTS.map((kind) => ({ kind, why: "it needs --node-faults" })));
    const trial = { url: ledger.url, namespace: LEDGER };
    const cuts = networkFaults(administrator, parts, execution, cutByPolicy(administrator));
    if (await enforcesPolicies(administrator, trial, image)) faults.push(...cuts);
    else leftOut.push(...cuts.map(({ kind }) => ({ kind, why: "the network enforces no NetworkPolicy" })));
  }
  const { only = "" } = form;
  return { faults: faults.filter(({ kind }) => kind.includes(only)), leftOut };
}

function groundOf({ client }: Administrator, execution: Execution): Ground {
  const namespace = `${OWN}-${execution}`;
  return { client, resource: resourceOf(execution), namespace, far: `${namespace}-far` };
}

async function assertEmpty({ client }: Administrator, namespaces: readonly string[]): Promise<void> {
  for (const name of namespaces) {
    if (!(await client.get(RESOURCES.namespace, { name }))) continue;
    throw new OccupiedError(
      `the cluster has a namespace ${name} already: the run would install into it and delete it. Use an empty cluster (KUBECONFIG), or "pulumi destroy" what is there.`,
    );
  }
}

async function cleanUp(
  { client }: Administrator,
  namespaces: readonly string[],
  program: Program,
  stack: ChaosStack,
  progress: (line: string) => void,
): Promise<void> {
  progress("pulumi destroy");
  try {
    await stack.destroy();
    for (const name of namespaces) await client.delete(RESOURCES.namespace, { name });
    const patience = { patienceMs: NAMESPACES_GONE_MS, signal: new AbortController().signal };
    const deadline = Date.now() + NAMESPACES_GONE_MS;
    for (const name of namespaces) {
      while (await persist(() => client.get(RESOURCES.namespace, { name }), patience)) {
        if (Date.now() > deadline) throw new Error(`namespace ${name} does not go`);
        await pause(1_000);
      }
    }
    program.remove();
  } catch (error) {
    progress(`the cluster could not be cleaned up. To do it by hand: ${stack.destroyCommand}`);
    progress(`kubectl delete namespace ${namespaces.join(" ")}`);
    throw error;
  }
}
