// What the components of one run of a program know of each other.
import * as pulumi from "@pulumi/pulumi";
import type { z } from "zod";
import type { Platform } from "../manifests/platform/options";

/**
 * The state of one run of a program. It is outside of the components, since they see each other only here: a program gives none of
 * them to another one. What a component needs for itself alone is in the component.
 */
export interface RunState {
  /** What two components may not both have, and what one installs for another. */
  readonly clusters: KnownCluster[];
  /** The namespaces and CRDs that the program has, each as "Namespace shop". */
  readonly dataObjects: Set<string>;
  /** Values that are known later, by their placeholders. Those of `loadOperators` are for a component that is created afterwards. */
  readonly later: Map<string, KnownLater>;
  /** The platforms of other stacks, by stack. A second StackReference of the same name fails. */
  readonly platforms: Map<string, Promise<Platform>>;
  /** What has been warned about. A component and its parts would all say the same. */
  readonly warned: Set<unknown>;
}

/** A cluster that components of the program are deployed to. */
export interface KnownCluster {
  /** The values by which the program names it: the same values, or the same Outputs, are the same cluster. */
  readonly values: readonly unknown[];
  /** The providers that were created for it, or given. */
  readonly providers: Set<pulumi.ProviderResource>;
  /** What components have claimed in it, by the claims' keys. */
  readonly claims: Map<string, Owner>;
}

/** A thing that a cluster can have only once, and the component of this program that creates it. */
export interface Claim {
  /** Which thing: the same for two claims to the same thing. */
  readonly key: string;
  /** The thing in an error: `the installation "shop"`. */
  readonly what: string;
  /** `Operators "shop"` */
  readonly component: string;
  /** What to do about a second claim. */
  readonly remedy: string;
}

/** A claim, and the component that has it. */
export interface Owner extends Claim {
  readonly resource: pulumi.Resource;
}

/** A value that is known later. */
export interface KnownLater {
  readonly value: pulumi.Input<unknown>;
  /** What it has to be. */
  readonly schema: z.ZodType;
  /** The arguments that it is given for. */
  readonly given: string;
}

/**
 * The key is the same in every copy of this package: one program may have components of several copies, since each of its packages may
 * bring its own. Copies whose state has another form need another key.
 */
const RUNS = Symbol.for("@argosy-dev/argosy:runs");
const place = globalThis as { [RUNS]?: Map<unknown, RunState> };

/**
 * A process may run many programs by Pulumi's Automation API, one after another or at the same time. The state of the ended ones is
 * not needed.
 */
const MOST_RUNS = 1_000;

/** The state of the current run: empty when the first component asks for it, and the same for all of them. */
export function thisRun(): RunState {
  place[RUNS] ??= new Map();
  const runs = place[RUNS];
  const run = keyOfRun();
  const state = runs.get(run) ?? {
    clusters: [],
    dataObjects: new Set(),
    later: new Map(),
    platforms: new Map(),
    warned: new Set(),
  };
  runs.set(run, state);
  const [oldest] = runs.keys();
  if (runs.size > MOST_RUNS) runs.delete(oldest);
  return state;
}

/** Whether a component of this run has the namespace or the CRD of this name. */
export function isOfProgram(kind: string, name: string): boolean {
  return thisRun().dataObjects.has(`${kind} ${name}`);
}

/** Whether nothing in this run has warned about this yet. From now on something has. */
export function isNewWarning(about: unknown): boolean {
  const { warned } = thisRun();
  return !warned.has(about) && warned.add(about) !== undefined;
}

/** A client of Pulumi's engine, as far as it says where the engine is. A mock does not. */
interface EngineClient {
  readonly getChannel?: () => { readonly getTarget: () => string };
}

/**
 * The same for all of one run of a program. All components that are created outside Pulumi count as one run. In a plugin each component
 * has clients of its own, so the addresses count and not the clients. Each run has two addresses of its own.
 */
function keyOfRun(): unknown {
  const clients = [pulumi.runtime.getMonitor(), pulumi.runtime.getEngine()] as (EngineClient | undefined)[];
  const [monitor, engine] = clients.map((client) => client?.getChannel?.().getTarget());
  return monitor === undefined ? (clients[0] ?? globalThis) : `${monitor} ${engine}`;
}

/** This program as one word, which is Pulumi's own name of its stack: "organization/project/stack". */
export function thisProgram(): string {
  return `${organization()}/${pulumi.getProject()}/${pulumi.getStack()}`;
}

/**
 * A backend without organizations calls its only one "organization". So does this function if there is no backend: under mocks.
 */
function organization(): string {
  try {
    return pulumi.getOrganization();
  } catch {
    return "organization";
  }
}
