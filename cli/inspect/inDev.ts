import { DOMAIN } from "../../runtime/base/names";
import type { KubernetesObject, ObjectName } from "../../runtime/base/objects";
import { askDevProcess, devProcesses } from "../cluster/devProcesses";
import type { PodLine } from "./podLog";

/** A line of an operator that `argosy dev` runs, as if in a pod. */
export interface DevLine extends PodLine {
  /** Counts the lines of the process, from 1. */
  readonly number: number;
  /** The operator's name. */
  readonly operator: string;
}

/** An operator that `argosy dev` runs. */
export interface DevOperator {
  readonly name: string;
  readonly group: string;
  readonly kind: string;
}

/** What an `argosy dev` has written. */
export interface DevLines {
  readonly operators: readonly DevOperator[];
  readonly lines: readonly DevLine[];
}

/** What {@link replayInDev} asks for. */
export interface DevReplay extends ObjectName {
  readonly group: string;
  readonly kind: string;
  /** The name of the schedule. */
  readonly due: string;
}

/** The runs of each `argosy dev` of this user that works with the API server, as Workflows that no API server has. */
export async function runsInDev(server: string): Promise<KubernetesObject[]> {
  const runs = devProcesses(server).map((each) => askDevProcess<KubernetesObject[]>(each, "/runs"));
  return (await Promise.all(runs)).flatMap((each) => each ?? []);
}

/** The annotation of such a run with the apiVersion and the kind of its object, which a cluster's runs lack. */
export const KIND_ANNOTATION = `${DOMAIN}/object-kind`;

/** The kind of the object of a run. Undefined for a run that a cluster has: anyone who may write there could have written it. */
export function kindInDev(
  run: KubernetesObject,
): { readonly apiVersion: string; readonly kind: string } | undefined {
  const [apiVersion, kind] = run.metadata.annotations?.[KIND_ANNOTATION]?.split(" ") ?? [];
  return isInDev(run) && apiVersion !== undefined && kind !== undefined ? { apiVersion, kind } : undefined;
}

/** Whether a run is one of {@link runsInDev}: no API server has given it a uid. */
function isInDev({ metadata }: KubernetesObject): boolean {
  return metadata.uid === undefined;
}

/** The operators and lines of one `argosy dev`, and then only what is new. */
export interface DevReader {
  /** @returns undefined if the process has ended */
  read(): Promise<DevLines | undefined>;
}

/** A reader for each `argosy dev` of this user that works with the API server. */
export function devReaders(server: string): DevReader[] {
  return devProcesses(server).map((process) => {
    let seen = 0;
    return {
      read: async () => {
        const found = await askDevProcess<DevLines>(process, `/lines?after=${seen}`);
        seen = found?.lines.at(-1)?.number ?? seen;
        return found;
      },
    };
  });
}

/**
 * Runs a schedule for an object in an `argosy dev` of this user.
 * @returns the run, as a Workflow. Undefined if none runs an operator of the kind
 * @throws UsageError if that operator has no such schedule; CommandError if it does not lead
 */
export async function replayInDev(
  server: string,
  replay: DevReplay,
  timeoutMs: number,
): Promise<KubernetesObject | undefined> {
  for (const process of devProcesses(server)) {
    const answer = await askDevProcess<{ run?: KubernetesObject }>(process, "/replay", replay, timeoutMs);
    if (answer?.run) return answer.run;
  }
  return undefined;
}
