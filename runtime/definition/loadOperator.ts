import path from "node:path";
import { pluralOf } from "../kubernetes/kinds";
import { DEFAULT_INSTALLATION, type OperatorIdentity } from "../names";
import { checkChildren } from "./checkChildren";
import { checkFormerNames } from "./checkFormerNames";
import { checkHandlerFiles } from "./checkHandlerFiles";
import { type CustomResourceDefinition, readCustomResourceDefinition } from "./customResourceDefinition";
import { FUNCTION_IMAGES, type Operator, type OperatorDefinition } from "./definition";
import { languageOf } from "./handlerProgram";
import { definitionFile, Problems } from "./operatorError";
import { isRecord } from "./shape";
import { checkFolderName, INSTALLATION_SHAPE, validateDefinition } from "./validateDefinition";

/** What a program says of an operator beside its definition. */
export interface LoadOptions {
  /** Tells this program's operators from those of others in the same cluster. @default "argosy" */
  readonly installation?: string | undefined;
}

/**
 * Checks a definition with its files and fills in every default. Runs nothing: of the files only the CRD is
 * read.
 *
 * @param folder - the operator's folder
 * @param definition - what its operator.ts exports as default
 * @throws OperatorError that names every problem: file, field, remedy
 */
export function loadOperator(
  folder: string,
  definition: unknown,
  { installation = DEFAULT_INSTALLATION }: LoadOptions = {},
): Operator {
  const absolute = path.resolve(folder);
  const problems = new Problems();
  const report = problems.in(definitionFile(absolute));
  INSTALLATION_SHAPE.check(installation, "installation (of the program)", report);
  const valid = validateDefinition(definition, report);
  const resource = readCrd(absolute, definition, problems);
  if (!valid) throw problems.toError();
  const name = definition.name ?? path.basename(absolute);
  if (definition.name === undefined) checkFolderName(name, report);
  checkFormerNames(definition.formerNames ?? [], { installation, name }, report);
  checkHandlerFiles(absolute, definition, report);
  checkChildren(definition, resource?.customResource, report);
  if (resource === undefined || problems.found) throw problems.toError();
  return fillDefaults(absolute, { installation, name }, definition, resource);
}

/** Also for a definition that is wrong elsewhere: its author shall see all there is to do. */
function readCrd(
  folder: string,
  definition: unknown,
  problems: Problems,
): CustomResourceDefinition | undefined {
  if (!isRecord(definition) || typeof definition.crd !== "string" || definition.crd === "") return undefined;
  const file = path.resolve(folder, definition.crd);
  return readCustomResourceDefinition(file, problems.in(file));
}

/**
 * A resident run waits for the API server most of the time: with fewer at once, the API server would serve those who create
 * objects first. A run in a pod costs a pod.
 */
const CONCURRENCY = { resident: 64, pod: 32 } as const;

function fillDefaults(
  folder: string,
  identity: OperatorIdentity,
  definition: OperatorDefinition,
  { crd, customResource }: CustomResourceDefinition,
): Operator {
  const { execution = "resident" } = definition;
  return {
    handler: handlerOf(definition),
    execution,
    concurrency: definition.concurrency ?? CONCURRENCY[execution],
    timeoutSeconds: definition.timeoutSeconds ?? 30,
    resyncSeconds: definition.resyncSeconds ?? 600,
    namespaces: definition.namespaces ?? "all",
    finalize: definition.finalize ?? false,
    resources: definition.resources ?? {},
    env: definition.env ?? {},
    secretEnv: definition.secretEnv ?? {},
    record: definition.record ?? "changes",
    rules: definition.rules ?? [],
    formerNames: definition.formerNames ?? [],
    ...identity,
    folder,
    crd,
    customResource,
    children: definition.children.map((child) => ({
      ...child,
      update: child.update ?? "apply",
      plural: child.plural ?? pluralOf(child.apiVersion, child.kind),
    })),
  };
}

function handlerOf({ handler, image }: OperatorDefinition): Operator["handler"] {
  if (typeof handler !== "string") return handler;
  return { image: image ?? FUNCTION_IMAGES[languageOf(handler)], function: handler };
}
