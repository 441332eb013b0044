import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import type { Connection } from "../preflight/lookInCluster";
import type { ClusterArgs } from "./arguments";
import { isInput } from "./inputs";
import { parentIn } from "./register";
import { onceForEachRun } from "./thisRun";

/** The cluster that a component is deployed to. */
export interface Cluster {
  /** The provider that makes the component's objects. Undefined for Pulumi's default one. */
  readonly provider: pulumi.ProviderResource | undefined;
  /** The same for two components if it is certain that their cluster is the same. */
  readonly identity: unknown;
  /** The cluster in which checks look. Undefined if the program does not say where it is, as with an explicit provider alone. */
  readonly connection: Promise<Connection | undefined>;
}

/**
 * The cluster of a component, and the options with which the component is to be registered.
 *
 * - With `cluster` alone, a provider for that cluster is made.
 * - With an explicit provider, of the component or of its parent, that provider is used. A provider does not say where its
 *   cluster is, so the checks look into the cluster that `cluster` names, or into none.
 * - Otherwise it is the cluster of Pulumi's default provider: from its configuration, or else from the kubeconfig of the person
 *   who runs the program. If this provider writes YAML into a directory, the checks look into none.
 */
export function clusterOf(
  name: string,
  args: ClusterArgs | undefined,
  opts: pulumi.ComponentResourceOptions,
): { readonly cluster: Cluster; readonly options: pulumi.ComponentResourceOptions } {
  const given = providerIn(opts);
  if (given) {
    const identity = identities().get(given) ?? given;
    return { cluster: { provider: given, identity, connection: connectionTo(args) }, options: opts };
  }
  if (args) {
    const provider = new k8s.Provider(
      providerName(name),
      { ...args },
      { ...parentIn(opts), aliases: providerAliases(name, opts) },
    );
    const options = { ...opts, providers: { ...providersIn(opts), kubernetes: provider } };
    const identity = identityOf(args);
    identities().set(provider, identity);
    return { cluster: { provider, identity, connection: connectionTo(args) }, options };
  }
  const cluster = {
    provider: undefined,
    identity: "default",
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

/** The identities of clusters for which a provider was made. A component's parts are given the provider alone. */
const identities = onceForEachRun("identities", () => new WeakMap<pulumi.ProviderResource, string>());

/**
 * The same for the same identifier, or else for the same values. Two Outputs may have the same value, but only the same Output
 * certainly has.
 */
function identityOf({ kubeconfig, context, clusterIdentifier }: ClusterArgs): string {
  const values = clusterIdentifier === undefined ? [kubeconfig, context] : [clusterIdentifier];
  return JSON.stringify(values.map((value) => (isInput(value) ? [numberOf(value)] : value)));
}

/** The numbers of a program's Outputs. */
const numbers = onceForEachRun("numbers", () => new Map<object, number>());

function numberOf(value: object): number {
  const known = numbers();
  const number = known.get(value) ?? known.size + 1;
  known.set(value, number);
  return number;
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

/** "urn:pulumi:stack::project::shop:index:Shop$argosy:index:Operators::old" becomes the URN of the provider beside it. */
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
