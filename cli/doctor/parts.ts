import { buildEventPathAccounts } from "../../components/manifests/eventPath/accounts";
import { buildKeeperAccess } from "../../components/manifests/eventPath/keeper";
import { eventPathNames, outsideNames, shardName } from "../../components/manifests/names";
import { buildAccess } from "../../components/manifests/operator/rbac";
import { RBAC_GROUP } from "../../definition/fields/rights";
import { isRecord } from "../../runtime/base/json";
import { groupOf, type KubernetesObject, type Manifest, type ObjectName } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import { builtIn, type Operator, WORKFLOW_TEMPLATES, WORKFLOWS, workflowTemplateOf } from "../../runtime/cli";
import type { InstalledOperator } from "../inspect/readInstalled";
import type { Finding } from "./checkup";

/** An object that a program has deployed. */
export interface Part {
  readonly resource: Resource;
  readonly name: ObjectName;
  /** What happens without it, as a clause: "its runner lacks rights in shop". */
  readonly without: string;
}

/** The objects of an operator or of an event path of which either all are deployed or none. */
export interface Parts {
  /** What a finding about one of them is about. */
  readonly about: Pick<Finding, "what" | "operator" | "installation" | "argosyVersion">;
  readonly parts: readonly Part[];
  /** Whether they are deployed. If it is not certain, any of them that exists shows it. */
  readonly isDeployed: boolean;
}

/** An operator that this version of Argosy deployed. */
export type OwnOperator = InstalledOperator & { readonly whole: Operator };

const rbac = (kind: string) => builtIn(`${RBAC_GROUP}/v1`, kind);
const argo = (kind: string, plural: string): Resource => ({ ...WORKFLOWS, kind, plural });
const EVENT_BUSES = argo("EventBus", "eventbus");
const EVENT_SOURCES = argo("EventSource", "eventsources");
const SENSORS = argo("Sensor", "sensors");

/** The kinds of the parts that are only in the operators' own namespaces. */
export const HOME_KINDS = [WORKFLOW_TEMPLATES, EVENT_BUSES, EVENT_SOURCES, SENSORS];
/** The kinds of the other parts. */
export const RIGHTS_KINDS = ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"].map(rbac);
/** The kinds of which not only the metadata is needed. */
export const READ_KINDS: readonly Resource[] = [SENSORS];

/**
 * The parts of an operator apart from its runner: rights and templates of Workflows. The definition in the cluster does not say
 * whether the operator grants rights to others, nor whether the cluster has Argo Workflows. Any of these parts that exists says so.
 */
export function partsOfOperator({ whole, name, home, installation, argosyVersion }: OwnOperator): Parts[] {
  const about = { what: `operator ${name}`, operator: name, installation, argosyVersion };
  const inPods = whole.execution === "pod";
  const platform = { namespace: home, argoWorkflows: true };
  // Which rights these are does not matter: the names of the roles are the same.
  const grants = [{ apiGroups: [""], resources: [], verbs: [] }];
  const access = Object.entries(buildAccess({ ...whole, grants }, { platform, placement: {} }));
  const rightsOf = (isMeant: (key: string) => boolean) =>
    rightsIn(Object.fromEntries(access.filter(([key]) => isMeant(key))), lacksRights);
  const isGrant = (key: string) => /^(runner|run)-grants-/.test(key);
  const isOfRuns = (key: string) => /^(runner|run)-workflows-/.test(key);
  const at = (resource: Resource, name: string, without: string) => part(resource, home, name, without);
  const template = at(
    WORKFLOW_TEMPLATES,
    workflowTemplateOf(name),
    inPods ? "its runs fail" : "no run of it can be submitted",
  );
  return [
    { about, parts: rightsOf((key) => !isGrant(key) && !isOfRuns(key)), isDeployed: true },
    { about, parts: rightsOf(isGrant), isDeployed: false },
    {
      about,
      parts: [...rightsOf(isOfRuns), template],
      isDeployed: inPods,
    },
  ];
}

/**
 * The parts of the event paths of these operators. Nothing but the parts says whether there is Argo Events, how many pairs of an event
 * source and a sensor a path has, and which event sources from outside.
 *
 * @param seen the objects that exist, of all kinds
 */
export function partsOfEventPaths(
  operators: readonly OwnOperator[],
  seen: readonly KubernetesObject[],
): Parts[] {
  const programs = new Map<string, Program>();
  for (const { home, installation, whole } of operators) {
    const key = `${home}/${installation}`;
    const { definitions = [] } = programs.get(key) ?? {};
    programs.set(key, { home, installation, definitions: [...definitions, whole] });
  }
  return [...programs.values()].flatMap((each) => [...eventPathOf(each, seen), outsidePathOf(each, seen)]);
}

/** What the operators of one program have together. */
interface Program extends Pick<OwnOperator, "home" | "installation"> {
  readonly definitions: readonly Operator[];
}

function eventPathOf(
  { home, installation: name, definitions }: Program,
  seen: readonly KubernetesObject[],
): Parts[] {
  // Changes of objects that are not ours never use the event path.
  const hinted = definitions.filter(({ watch }) => !watch);
  if (hinted.length === 0) return [];
  const without = "runners see changes only by their own watches";
  const shards = [SENSORS, EVENT_SOURCES].flatMap(({ kind }) =>
    seen
      .filter((each) => each.kind === kind && isOfPath(each, home, name))
      .map(({ metadata }) => metadata.name),
  );
  const options = { name, platform: { namespace: home }, placement: {} };
  const unkept = "the event path's pods are not replaced after their event bus";
  return [
    {
      about: { what: `event path ${name}`, installation: name },
      parts: [
        part(EVENT_BUSES, home, eventPathNames(name).eventBus, without),
        ...[...new Set([shardName(name, 1), ...shards])].flatMap((shard) =>
          [EVENT_SOURCES, SENSORS].map((kind) => part(kind, home, shard, without)),
        ),
        ...rightsIn(buildEventPathAccounts(hinted, options), () => without),
        ...rightsIn(buildKeeperAccess(options), () => unkept),
      ],
      isDeployed: false,
    },
  ];
}

/** The path of events from outside. Its sensor names the event sources. */
function outsidePathOf({ home, installation }: Program, seen: readonly KubernetesObject[]): Parts {
  const { path } = outsideNames(installation);
  const without = "events from outside create no objects";
  const ofPath = seen.filter((each) => isOfPath(each, home, path));
  const sources = ofPath.flatMap((each) => (each.kind === SENSORS.kind ? sourcesOf(each) : []));
  return {
    about: { what: `event path ${path}`, installation },
    parts: [
      part(EVENT_BUSES, home, path, without),
      part(SENSORS, home, path, without),
      ...[...new Set(sources)].map((name) => part(EVENT_SOURCES, home, name, without)),
    ],
    // The intake's ClusterRole shows it too.
    isDeployed: ofPath.length > 0,
  };
}

const PATH_COMPONENTS: readonly unknown[] = ["event-bus", "event-source", "sensor", "intake"];

/** Whether an object belongs to an event path of this name. An operator may have the same name. */
function isOfPath(
  { metadata: { namespace, labels = {} } }: KubernetesObject,
  home: string,
  name: string,
): boolean {
  return (
    (namespace ?? home) === home &&
    labels["app.kubernetes.io/name"] === name &&
    PATH_COMPONENTS.includes(labels["app.kubernetes.io/component"])
  );
}

/** The event sources of whose events a Sensor has dependencies. */
function sourcesOf({ spec }: KubernetesObject): string[] {
  const { dependencies } = isRecord(spec) ? spec : {};
  const found = Array.isArray(dependencies) ? dependencies.filter(isRecord) : [];
  return found.map(({ eventSourceName }) => String(eventSourceName));
}

/** The roles and bindings among manifests. */
function rightsIn(set: Readonly<Record<string, Manifest>>, without: (manifest: Manifest) => string): Part[] {
  return Object.values(set)
    .filter(({ apiVersion }) => groupOf(apiVersion) === RBAC_GROUP)
    .map((manifest) => ({
      resource: rbac(manifest.kind),
      name: manifest.metadata,
      without: without(manifest),
    }));
}

/** Whose rights are lacking without a role or a binding, and where. */
function lacksRights({ metadata: { namespace, labels = {} } }: Manifest): string {
  const whose: Readonly<Record<string, string>> = {
    runner: "its runner lacks",
    run: "its runs lack",
    handler: "its handler lacks",
  };
  const where = namespace === undefined ? "in the whole cluster" : `in ${namespace}`;
  return `${whose[labels["app.kubernetes.io/component"] ?? ""]} rights ${where}`;
}

function part(resource: Resource, namespace: string, name: string, without: string): Part {
  return { resource, name: { namespace, name }, without };
}
