// Which cluster a component is deployed to; checkInCluster.ts asks it before anything is registered.
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { Connection } from "../../preflight/lookInCluster";
import type { ClusterArgs } from "../arguments/arguments";
import { isInput } from "../arguments/inputs";
import { parentIn } from "../register";
import { type KnownCluster, thisRun } from "./thisRun";

/** The cluster that a component is deployed to. */
export interface Cluster {
  /** The provider that makes the component's objects. Undefined for Pulumi's default one. */
  readonly provider: pulumi.ProviderResource | undefined;
  /** The same object for two components if it is certain that their cluster is the same. */
  readonly known: KnownCluster;
  /** The cluster in which checks look. Undefined if the program does not say where it is, as with an explicit provider alone. */
  readonly connection: Promise<Connection | undefined>;
}

/**
 * Chooses the cluster of a component, and creates a provider if the component has `cluster` alone. Returns the options with which the
 * component is to be registered as well.
 *
 * - With an explicit provider, of the component or of its parent, that provider is used. A provider does not say where its
 *   cluster is, so the checks look into the cluster that `cluster` names, or into none.
 * - Otherwise it is the cluster of Pulumi's default provider: from its configuration, or else from the kubeconfig of the person
 *   who runs the program. If this provider writes YAML into a directory, the checks look into none.
 */
export function provideCluster(
  name: string,
  args: ClusterArgs | undefined,
  opts: pulumi.ComponentResourceOptions,
): { readonly cluster: Cluster; readonly options: pulumi.ComponentResourceOptions } {
  const given = providerIn(opts);
  if (given) {
    const known = knownCluster([given], given);
    return { cluster: { provider: given, known, connection: connectionTo(args) }, options: opts };
  }
  if (args) {
    const provider = new k8s.Provider(
      providerName(name),
      { ...args },
      { ...parentIn(opts), aliases: providerAliases(name, opts) },
    );
    const options = { ...opts, providers: { ...providersIn(opts), kubernetes: provider } };
    const known = knownCluster(valuesOf(args), provider);
    return { cluster: { provider, known, connection: connectionTo(args) }, options };
  }
  const cluster = {
    provider: undefined,
    known: knownCluster([]),
    connection: Promise.resolve(defaultConnection()),
  };
  return { cluster, options: opts };
}

/** The cluster of Pulumi's default provider. Undefined if that writes files and makes nothing in a cluster. */
function defaultConnection(): Connection | undefined {
  const config = new pulumi.Config("kubernetes");
  if (config.get("renderYamlToDirectory")) return undefined;
  return {
    kubeconfig: config.get("kubeconfig"),
    context: config.get("context"),
    cluster: config.get("cluster"),
  };
}

/** The cluster of the program that has this provider, or else these values. */
function knownCluster(values: readonly unknown[], provider?: pulumi.ProviderResource): KnownCluster {
  const { clusters } = thisRun();
  // Two Outputs may have the same value, but only the same Output certainly has.
  const isSame = (each: KnownCluster) =>
    each.values.length === values.length && each.values.every((value, index) => value === values[index]);
  const known = clusters.find((each) => (provider && each.providers.has(provider)) || isSame(each)) ?? {
    values,
    providers: new Set(),
    claims: new Map(),
  };
  if (!clusters.includes(known)) clusters.push(known);
  if (provider) known.providers.add(provider);
  return known;
}

/** The values that name a cluster. */
function valuesOf({ kubeconfig, context, clusterIdentifier }: ClusterArgs): readonly unknown[] {
  return clusterIdentifier === undefined ? [kubeconfig, context] : [clusterIdentifier];
}

const KUBERNETES = "kubernetes";
const PROVIDER_TYPE = `pulumi:providers:${KUBERNETES}`;

/** The name of the provider that is made for a component. */
function providerName(component: string): string {
  return `${component}-cluster`;
}

/**
 * What Pulumi may know the provider by from before its component had another name or another parent. With a new provider Pulumi
 * would replace everything that the old one has made. The component's parts inherit its aliases, but the provider is not a part.
 */
function providerAliases(
  name: string,
  { aliases = [] }: pulumi.ComponentResourceOptions,
): pulumi.Input<pulumi.URN | pulumi.Alias>[] {
  return aliases.map((alias) =>
    pulumi.output(alias).apply((known) => {
      if (typeof known === "string") return providerUrn(known);
      return { ...known, name: providerName(String(known.name ?? name)), type: PROVIDER_TYPE };
    }),
  );
}

/** "urn:pulumi:stack::project::shop:index:Shop$argosy:index:Operators::old" becomes the URN of its sibling, the provider. */
function providerUrn(component: pulumi.URN): pulumi.URN {
  const [stack, project, types = "", ...name] = component.split("::");
  const type = [...types.split("$").slice(0, -1), PROVIDER_TYPE].join("$");
  return [stack, project, type, providerName(name.join("::"))].join("::");
}

function providerIn(opts: pulumi.ComponentResourceOptions): pulumi.ProviderResource | undefined {
  return providersIn(opts)[KUBERNETES] ?? opts.parent?.getProvider(`${KUBERNETES}::`);
}

/** The explicit providers of a component by their packages. */
function providersIn({
  provider,
  providers = {},
}: pulumi.ComponentResourceOptions): Record<string, pulumi.ProviderResource> {
  const listed = Array.isArray(providers) ? providers : Object.values(providers);
  const all = provider ? [...listed, provider] : listed;
  return Object.fromEntries(all.map((each) => [packageOf(each), each]));
}

/** The package of a provider (sdk/nodejs/resource.ts, ProviderResource). */
function packageOf(provider: pulumi.ProviderResource): string {
  return (provider as unknown as { getPackage(): string }).getPackage();
}

/** The values of `cluster`, if all of them are known. The kubeconfig of a cluster that does not exist yet is not known. */
async function connectionTo(args: ClusterArgs | undefined): Promise<Connection | undefined> {
  if (!args) return undefined;
  const [kubeconfig, context] = await Promise.all([known(args.kubeconfig), known(args.context)]);
  return kubeconfig === NOT_KNOWN || context === NOT_KNOWN ? undefined : { kubeconfig, context };
}

const NOT_KNOWN = Symbol("not known");

/** The value of an Input, or a note that it is not known in this preview. */
async function known(
  input: pulumi.Input<string> | undefined,
): Promise<string | undefined | typeof NOT_KNOWN> {
  if (!isInput(input)) return input as string | undefined;
  // Both exist, although Pulumi does not declare them for users (sdk/nodejs/output.ts, OutputInstance).
  const output = pulumi.output(input) as unknown as { isKnown: Promise<boolean>; promise(): Promise<string> };
  return (await output.isKnown) ? output.promise() : NOT_KNOWN;
}
