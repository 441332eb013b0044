import type { Fault, LeftOut } from "../fault";
import type { Model } from "../model";
import type { Player } from "../player";
import { namespaceFault, troubleFaults } from "../troubles";
import type { Administrator } from "./administrator";
import { cutByPolicy, cutOnNode, networkFaults } from "./networkFaults";
import { NODE_FAULTS, nodeFaults } from "./nodeFaults";
import { partsOf } from "./parts";
import { podFaults } from "./podFaults";
import { findControlPlane } from "./processes";
import type { Execution, Program } from "./program";
import type { ChaosStack } from "./stack";

/** The options of a form's faults. */
export interface FaultOptions {
  readonly administrator: Administrator;
  readonly execution: Execution;
  readonly program: Pick<Program, "renewHandler" | "upgrade">;
  readonly stack: Pick<ChaosStack, "up">;
  readonly player: Pick<Player, "trouble" | "renewFar">;
  readonly model: Pick<Model, "version">;
  readonly progress: (line: string) => void;
}

/** The properties of a cluster that decide which faults are possible. */
export interface FaultPlace {
  /** Whether the cluster's one node and its control plane are this machine, and we are root. */
  readonly isNode: boolean;
  /** Whether the cluster's network enforces NetworkPolicy. Only called if it makes a difference. */
  readonly enforcesPolicies: () => Promise<boolean>;
}

/** The faults that are possible, and those that are not. */
export async function findFaults(
  options: FaultOptions,
  place: FaultPlace,
): Promise<{ readonly faults: readonly Fault[]; readonly leftOut: readonly LeftOut[] }> {
  const { administrator, execution } = options;
  const parts = partsOf(administrator, execution);
  const faults = faultsAnywhere(options);
  if (place.isNode) {
    const cuts = networkFaults(administrator, parts, cutOnNode);
    const controlPlane = findControlPlane(administrator.server);
    return { faults: [...faults, ...nodeFaults(parts, controlPlane), ...cuts], leftOut: [] };
  }
  const leftOut = NODE_FAULTS.map((kind) => ({ kind, why: "it needs --node-faults" }));
  const cuts = networkFaults(administrator, parts, cutByPolicy(administrator));
  if (await place.enforcesPolicies()) return { faults: [...faults, ...cuts], leftOut };
  const why = "the network does not enforce NetworkPolicy";
  return { faults, leftOut: [...leftOut, ...cuts.map(({ kind }) => ({ kind, why }))] };
}

/** Every kind of fault of a form, whether it is possible or not. */
export function faultKinds(administrator: Administrator, execution: Execution): readonly string[] {
  const nothing = {
    ...{ renewHandler: () => {}, upgrade: () => {}, trouble: () => {} },
    ...{ up: async () => {}, renewFar: async () => {} },
  };
  const noProgram = { name: "", option: "", value: "" };
  const parts = partsOf(administrator, execution);
  const faults = [
    ...faultsAnywhere({
      ...{ administrator, execution, program: nothing, stack: nothing, player: nothing },
      ...{ model: { version: 1 }, progress: () => {} },
    }),
    ...nodeFaults(parts, { apiServer: noProgram, etcd: noProgram }),
    ...networkFaults(administrator, parts, cutOnNode),
  ];
  return faults.map(({ kind }) => kind);
}

function faultsAnywhere(options: FaultOptions): Fault[] {
  const { administrator, execution, player } = options;
  const parts = partsOf(administrator, execution);
  return [
    ...podFaults(administrator, parts, execution),
    ...troubleFaults(player),
    namespaceFault(player),
    ...programFaults(options),
  ];
}

/** The actions of the program's owner during faults. */
function programFaults({ execution, program, stack, model, progress }: FaultOptions): Fault[] {
  const up = () => stack.up((why) => progress(`pulumi up has failed, trying again: ${why}`));
  return [
    {
      kind: "handler: changed, and pulumi up",
      begin: async () => {
        const version = model.version + 1;
        program.renewHandler(execution, version);
        await up();
        model.version = version;
        return undefined;
      },
    },
    {
      kind: "stack: upgraded, and pulumi up",
      begin: async () => {
        program.upgrade();
        await up();
        return undefined;
      },
    },
  ];
}
