import { DEFAULT_INSTALLATION } from "../../../runtime/base/names";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { withoutKeys } from "../effects";
import type { Fault, LeftOut } from "../fault";
import { generatePlan } from "../generatePlan";
import type { Ground } from "../ground";
import { History } from "../history";
import { Model } from "../model";
import { findDifferences } from "../oracle";
import type { Patience } from "../patience";
import { type Outcome, perform } from "../perform";
import { persist } from "../persist";
import { Player } from "../player";
import { makeBystanders, takeSnapshot } from "../snapshot";
import { Administrator, RESOURCES } from "./administrator";
import { cleanUp, type Made, tellHow } from "./cleanUp";
import { ChaosOptionError, OccupiedError } from "./errors";
import { faultKinds, findFaults } from "./faults";
import { Ledger } from "./ledger";
import { CONTROLLER_NAMESPACE, NAMESPACE } from "./parts";
import { enforcesPolicies } from "./policyTrial";
import { type Execution, installVersions, operatorOf, Program, resourceOf } from "./program";
import { ChaosStack } from "./stack";

/** The options of a chaos run in a cluster. */
export interface ChaosOptions {
  readonly connection: ClusterConnection;
  readonly seed: number;
  /** The number of changes in each form. 0 leaves the form out. */
  readonly changes: Readonly<Record<Execution, number>>;
  /** The number of names of objects in each form. */
  readonly objects: Readonly<Record<Execution, number>>;
  /** Whether this machine is the cluster's only node and its control plane, and we are root. */
  readonly nodeFaults: boolean;
  /** Only kinds of faults whose name contains this. @default all */
  readonly only?: string;
  /** A commit of this program to begin with. The first upgrade installs the present commit. @default the present commit */
  readonly from?: string;
  /** Do not clean up if something is lost. */
  readonly keep: boolean;
  /** The folder of this program. */
  readonly project: string;
  /** Node. */
  readonly image: string;
  /** Whether the pods of runs have no init container of Argo's own. */
  readonly initlessPods: boolean;
  readonly progress: (line: string) => void;
  readonly signal: AbortSignal;
}

const STACK = "chaos";
const OWN = "argosy-chaos";
const LEDGER = `${OWN}-ledger`;
const FAULT_SECONDS = [3, 30] as const;
const READY_MS = 120_000;

/** How a form is played. */
interface Pace {
  readonly changesPerRound: number;
  readonly changesPerSecond: number;
  /** The number of rounds at the beginning without a fault. */
  readonly calmRounds: number;
  readonly patience: Patience;
}

/** The pace of each form. */
const PACE: Readonly<Record<Execution, Pace>> = {
  // The longest pause of a retry is five minutes (runtime/base/turn.ts). There is no resync: see program.ts.
  resident: {
    changesPerRound: 80,
    changesPerSecond: 10,
    calmRounds: 1,
    patience: { calmMs: 60_000, troubledMs: 330_000 },
  },
  // Each change needs a pod, and the runs wait for room on the node.
  pod: {
    changesPerRound: 10,
    changesPerSecond: 1,
    calmRounds: 3,
    patience: { calmMs: 120_000, troubledMs: 600_000 },
  },
};

/** The result of a run: the figures of each form that was started, and the reason of an abort. */
export interface ChaosResult {
  readonly outcomes: Partial<Record<Execution, Outcome>>;
  /** The reason of the abort, which may be the signal's reason, or the reason why the cleanup failed. */
  readonly failure?: unknown;
}

/**
 * Installs this program with an operator of each form, plays a plan for each during faults, and removes everything.
 * @throws OccupiedError if the cluster is not empty enough, ChaosOptionError, both before anything is created
 */
export async function runInCluster(options: ChaosOptions): Promise<ChaosResult> {
  const { progress, signal, keep, image, initlessPods } = options;
  const executions = (["resident", "pod"] as const).filter((execution) => options.changes[execution] > 0);
  const administrator = new Administrator(options.connection);
  try {
    assertKnown(administrator, executions, options.only);
    const grounds = new Map(executions.map((execution) => [execution, groundOf(administrator, execution)]));
    const namespaces = [LEDGER, ...[...grounds.values()].flatMap(({ namespace, far }) => [namespace, far])];
    await assertEmpty(administrator, [NAMESPACE, CONTROLLER_NAMESPACE, ...namespaces]);
    const ledger = new Ledger(administrator, LEDGER);
    const { project, from } = options;
    progress("packing and installing the program");
    const program = new Program({
      ...{ stack: STACK, executions, ledger: ledger.url, image, initlessPods },
      install: (folder) => installVersions(project, folder, from),
    });
    const stack = new ChaosStack(program, STACK, signal);
    const made: Made = { administrator, namespaces, program, stack };
    const outcomes: Partial<Record<Execution, Outcome>> = {};
    const failures: unknown[] = [];
    try {
      await install(made, ledger, options);
      for (const [execution, ground] of grounds) {
        const outcome = await playForm({ ...options, ...made, ledger, execution, ground });
        outcomes[execution] = outcome;
        if (outcome.brokenOff) throw outcome.brokenOff;
      }
    } catch (error) {
      failures.push(error);
    }
    if (signal.aborted)
      progress("interrupted: removing everything that was created; press Ctrl-C again to leave it");
    if (keep && Object.values(outcomes).some(({ lost }) => lost.length > 0)) {
      progress("not cleaned up. To remove everything:");
      tellHow(made, progress);
    } else {
      await cleanUp(made, progress).catch((error: unknown) => failures.push(error));
    }
    return { outcomes, ...(failures.length > 0 && { failure: failures[0] }) };
  } finally {
    administrator.close();
  }
}

async function install(
  { administrator, namespaces, stack }: Made,
  ledger: Ledger,
  { image, progress, signal }: ChaosOptions,
): Promise<void> {
  for (const name of namespaces) {
    const { apiVersion, kind } = RESOURCES.namespace;
    await administrator.apply({ apiVersion, kind, metadata: { name } });
  }
  await ledger.start(image);
  progress("pulumi up");
  await stack.up(progress);
  signal.throwIfAborted();
  await persist(() => ledger.read(), { patienceMs: READY_MS, signal });
}

interface Form extends ChaosOptions, Made {
  readonly execution: Execution;
  readonly ground: Ground;
  readonly ledger: Ledger;
}

async function playForm(form: Form): Promise<Outcome> {
  const { administrator, execution, ground, image, only = "", seed, signal, ledger } = form;
  const { changesPerRound, changesPerSecond, calmRounds, patience } = PACE[execution];
  const patienceMs = patience.troubledMs;
  const progress = (line: string) => form.progress(`${execution}: ${line}`);
  const model = new Model(ground.namespace, ground.far);
  const history = new History();
  const operator = { installation: DEFAULT_INSTALLATION, name: operatorOf(execution) };
  const player = new Player({ ground, model, operator, history, patienceMs, signal });
  const trial = { url: ledger.url, namespace: LEDGER };
  const found = await findFaults(
    { ...form, player, model, progress },
    { isNode: form.nodeFaults, enforcesPolicies: () => enforcesPolicies(administrator, trial, image) },
  );
  const isAsked = ({ kind }: LeftOut | Fault) => kind.includes(only);
  const [faults, leftOut] = [found.faults.filter(isAsked), found.leftOut.filter(isAsked)];
  for (const { kind, why } of leftOut) progress(`left out: ${kind}: ${why}`);
  model.bystanders = await makeBystanders(ground, operator);
  const plan = generatePlan({
    seed,
    changes: form.changes[execution],
    objects: form.objects[execution],
    calmRounds,
    changesPerRound,
    faults: faults.map(({ kind }) => kind),
    faultSeconds: FAULT_SECONDS,
    mostDelayMs: 200,
  });
  const read = () => persist(() => ledger.read(), { patienceMs, signal });
  // The effects of the other form.
  const former = await read();
  const effects = async () => withoutKeys(await read(), former);
  const outcome = await perform(plan, {
    player,
    history,
    faults,
    effects,
    differences: async () => {
      const snapshot = await persist(() => takeSnapshot(ground), { patienceMs, signal });
      return findDifferences(model, snapshot, await effects());
    },
    changesPerSecond,
    patience,
    progress,
    signal,
  });
  return { ...outcome, leftOut: [...leftOut, ...outcome.leftOut] };
}

function groundOf({ client }: Administrator, execution: Execution): Ground {
  const namespace = `${OWN}-${execution}`;
  return { client, resource: resourceOf(execution), namespace, far: `${namespace}-far` };
}

function assertKnown(administrator: Administrator, executions: readonly Execution[], only = ""): void {
  const kinds = new Set(executions.flatMap((execution) => faultKinds(administrator, execution)));
  if ([...kinds].some((kind) => kind.includes(only))) return;
  const list = [...kinds].sort().map((kind) => `  ${kind}`);
  const why = `no kind of fault has "${only}" in its name. The kinds are:`;
  throw new ChaosOptionError("--faults <text>", [why, ...list].join("\n"));
}

async function assertEmpty({ client }: Administrator, namespaces: readonly string[]): Promise<void> {
  for (const name of namespaces) {
    if (!(await client.get(RESOURCES.namespace, { name }))) continue;
    throw new OccupiedError(
      `the cluster already has a namespace ${name}: the run would install into it and delete it. Use an empty cluster ` +
        `(KUBECONFIG), or run "pulumi destroy" for the existing installation.`,
    );
  }
}
