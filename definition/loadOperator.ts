import path from "node:path";
import { isRecord } from "../runtime/base/json";
import { pluralOf } from "../runtime/base/kinds";
import { DEFAULT_INSTALLATION, type OperatorIdentity } from "../runtime/base/names";
import {
  type ChildKind,
  FUNCTION_IMAGES,
  type Operator,
  type RolloutPolicy,
  WATCHED_PARTS,
  type Watch,
} from "../runtime/operator/definition";
import { checkChildren, checkKnownResources } from "./checkChildren";
import { checkGrants } from "./checkGrants";
import { checkHandlerFiles } from "./checkHandlerFiles";
import { checkInclude } from "./checkInclude";
import { checkFormerNames } from "./checkOperators";
import { checkOutsideEvents, outsideEventsOf } from "./checkOutsideEvents";
import { checkResources } from "./checkResources";
import { anyObject, check } from "./checks";
import { checkUses } from "./checkUses";
import { checkWatch, watchedKind } from "./checkWatch";
import { type CustomResourceDefinition, readCustomResourceDefinition } from "./customResourceDefinition";
import { overridesOf, readDefinition, type WrittenDefinition, withOverrides } from "./definitionFile";
import { INSTALLATION, NAME } from "./fields/identity";
import { languageOf } from "./handlerProgram";
import { override } from "./overrides";
import { Problems } from "./problems";
import {
  type CheckedDefinition,
  CRD_REMEDY,
  DEFINITION,
  type OperatorDefinition,
  type OperatorOverrides,
  OVERRIDES,
} from "./schema";

/** A program's options for its operators, in addition to their definitions. */
export interface LoadOptions {
  /** Distinguishes this program's operators from those of others in the same cluster. @default "argosy" */
  readonly installation?: string | undefined;
  /** The fields that this stack sets instead of the operators' own definitions, by the operators' names. @default nothing */
  readonly overrides?: Readonly<Record<string, OperatorOverrides | undefined>> | undefined;
}

/**
 * Loads the operator of a folder: reads its operator.yaml and its CRD, checks both together with the handler's files and the
 * program's overrides, and fills in every default. No code of the author is run.
 *
 * @throws OperatorError that names every problem: file, line and column, field, remedy
 */
export function loadOperator(
  folder: string,
  { installation = DEFAULT_INSTALLATION, overrides = {} }: LoadOptions = {},
): Operator {
  const absolute = path.resolve(folder);
  const problems = new Problems();
  const program = problems.at("the program");
  check(INSTALLATION, installation, program, "installation");
  check(anyObject("Give overrides by the names of operators."), overrides, program, "overrides");
  const written = readDefinition(absolute, problems);
  if (!written) throw problems.toError();
  const name = nameOf(absolute, written);
  checkSubject(written);
  const definition = check(DEFINITION, written.content, written.report);
  const given = check(OVERRIDES, ownOf(overrides, name), problems.at(overridesOf(name)));
  const resource = definition?.watch
    ? { crd: {}, customResource: watchedKind(definition.watch) }
    : readCrd(absolute, written.content.crd, problems);
  if (!definition || !given || problems.found) throw problems.toError();
  // The content is what was checked: without the defaults, which no override replaces.
  const { definition: merged, overridden } = override(
    written.content as unknown as OperatorDefinition,
    given,
  );
  const report = withOverrides({ name, overridden }, written.report, problems);
  const checked = check(DEFINITION, merged, report);
  if (!checked) throw problems.toError();
  const { replicas } = given;
  checkFormerNames(checked.formerNames, { installation, name }, report);
  const namespaces = namespacesOf(checked, overridden);
  if (checked.watch) checkWatch(checked.watch, namespaces, { installation, name }, report);
  checkChildren({ ...checked, namespaces }, resource?.customResource, report);
  checkGrants(checked, report);
  checkKnownResources(checked.rules, "rules", report);
  checkKnownResources(checked.grants, "grants", report);
  checkInclude(absolute, checked.include, report);
  checkOutsideEvents(checked, resource, report);
  checkUses(checked, resource, report);
  checkResources(checked, report);
  checkHandlerFiles(absolute, checked, problems, report);
  if (resource === undefined || problems.found) throw problems.toError();
  return {
    ...fillDefaults(absolute, { installation, name }, { ...checked, namespaces }, resource),
    ...(replicas !== undefined && { replicas }),
    overridden,
  };
}

/** The name in the definition, if that can be read, else the folder's. */
function nameOf(folder: string, { content, report }: WrittenDefinition): string {
  if (typeof content.name === "string") return content.name;
  const name = path.basename(folder);
  if (content.name === undefined) check(NAME, name, report, "name (of the folder)");
  return name;
}

/** The namespaces may be in `watch` or next to it. The program's overrides take precedence over both. */
function namespacesOf({ watch, namespaces }: CheckedDefinition, overridden: readonly string[]) {
  return overridden.includes("namespaces") ? namespaces : (watch?.namespaces ?? namespaces);
}

/** Checks that the schema cannot make of a definition as it is written, because a default has been filled in by then. */
function checkSubject({ content: { crd, watch, namespaces }, report }: WrittenDefinition): void {
  if (crd === undefined && watch === undefined) report("crd", "is missing", CRD_REMEDY);
  if (namespaces === undefined || !isRecord(watch) || watch["namespaces"] === undefined) return;
  report("namespaces", "is given in watch as well", "Keep one of the two.");
}

function ownOf(overrides: LoadOptions["overrides"], name: string): unknown {
  return (overrides && Object.hasOwn(overrides, name) ? overrides[name] : undefined) ?? {};
}

/** Reads the CRD even if the definition has other mistakes, so that its author sees all mistakes at once. */
function readCrd(folder: string, crd: unknown, problems: Problems): CustomResourceDefinition | undefined {
  if (typeof crd !== "string" || crd === "") return undefined;
  return readCustomResourceDefinition(path.resolve(folder, crd), problems);
}

/**
 * A resident run waits for the API server most of the time: with fewer at once, the API server would serve those who create
 * objects first. A run in a pod costs a pod.
 */
const CONCURRENCY = { resident: 64, pod: 32 } as const;

function fillDefaults(
  folder: string,
  identity: OperatorIdentity,
  definition: CheckedDefinition,
  { crd, customResource }: CustomResourceDefinition,
): Omit<Operator, "overridden"> {
  const { handler, image, execution } = definition;
  const on = outsideEventsOf(definition);
  const ttls = on.flatMap(({ name, ttlSecondsAfterReady: ttl }) => (ttl === undefined ? [] : [[name, ttl]]));
  return {
    handler:
      typeof handler === "string"
        ? { image: image ?? FUNCTION_IMAGES[languageOf(handler)], function: handler }
        : handler,
    ...(definition.include && { include: definition.include }),
    ...(definition.files && { files: definition.files }),
    execution,
    concurrency: definition.concurrency ?? CONCURRENCY[execution],
    timeoutSeconds: definition.timeoutSeconds,
    resyncSeconds: definition.resyncSeconds,
    namespaces: definition.namespaces,
    ...(Object.keys(definition.schedules).length > 0 && { schedules: definition.schedules }),
    finalize: definition.finalize,
    ...(definition.ask === "changed" && { ask: definition.ask }),
    resources: definition.resources,
    env: definition.env,
    secretEnv: definition.secretEnv,
    ...(definition.egress && { egress: definition.egress }),
    record: definition.record ?? "changes",
    ...(definition.userRoles && { userRoles: true }),
    ...(definition.rollout && { rollout: rolloutOf(definition.rollout) }),
    rules: definition.rules,
    grants: definition.grants,
    formerNames: definition.formerNames,
    ...(on.length > 0 && { on }),
    ...(ttls.length > 0 && { eventTtls: Object.fromEntries(ttls) as Record<string, number> }),
    ...identity,
    ...(definition.watch && { watch: watchOf(definition.watch) }),
    folder,
    crd,
    customResource,
    uses: Object.fromEntries(
      Object.entries(definition.uses).map(([key, use]) => [
        key,
        { ...use, plural: use.plural ?? pluralOf(use.apiVersion, use.kind) },
      ]),
    ),
    children: definition.children.map(({ update = "apply", plural, ...child }: ChildKind) => ({
      ...child,
      update,
      plural: plural ?? pluralOf(child.apiVersion, child.kind),
    })),
  };
}

function rolloutOf({ first, ...others }: NonNullable<CheckedDefinition["rollout"]>): RolloutPolicy {
  return { firstPercent: Number.parseInt(first, 10), ...others };
}

/** By default every change of an object counts, because an operator that watches others' objects wants to know their state. */
function watchOf({ labels = {}, on }: NonNullable<CheckedDefinition["watch"]>): Watch {
  const counted: readonly string[] = on ?? WATCHED_PARTS;
  return { labels, on: WATCHED_PARTS.filter((part) => counted.includes(part)) };
}
