import { DEFINITION_FILE, definitionFileContent, type Operator } from "../../../runtime/program";
import { contentHash } from "../configMaps";
import type { ConfigMap } from "../kinds";
import { labelsOf } from "../metadata";
import { handlerFiles, type KeyToPath } from "./handlerFiles";
import type { OperatorOptions } from "./options";

/** The ConfigMaps that an operator's pods mount. A change of content is another ConfigMap, and so a roll-out. */
export interface OperatorFiles {
  /** engine.js and handler.sh. The same for all operators of a program. */
  readonly engine: ConfigMap;
  /** operator.json. */
  readonly definition: ConfigMap;
  /** The author's files. */
  readonly handler: ConfigMap;
  /** Which key of {@link handler} is which file. */
  readonly handlerItems: readonly KeyToPath[];
}

/**
 * Builds the two ConfigMaps of an operator, beside the one of the engine.
 *
 * @param engine - see {@link buildEngineFiles}
 * @throws OperatorError where a file of the author's cannot be carried
 */
export function buildFiles(operator: Operator, options: OperatorOptions, engine: ConfigMap): OperatorFiles {
  const { namespace } = options.platform;
  const { data, items } = handlerFiles(operator);
  const build = (role: string, files: Readonly<Record<string, string>>) =>
    configMap(`${operator.name}-${role}`, namespace, labelsOf(operator.name, role), files);
  return {
    engine,
    definition: build("definition", { [DEFINITION_FILE]: definitionOf(operator) }),
    handler: build("handler", data),
    handlerItems: items,
  };
}

/**
 * Builds the engine's ConfigMap, one for all operators of a program.
 *
 * @param name - the program's: several may live in one namespace
 * @param files - the texts of engine.js and handler.sh by name
 */
export function buildEngineFiles(
  name: string,
  namespace: string,
  files: Readonly<Record<string, string>>,
): ConfigMap {
  return configMap(`${name}-engine`, namespace, labelsOf(name, "engine"), files);
}

/** What the handler's container alone is told is no business of the engine's. */
function definitionOf(operator: Operator): string {
  return definitionFileContent({ ...operator, env: {}, secretEnv: {}, resources: {} });
}

/** Immutable: the kubelet need not watch it, and no pod sees another content than the one that it was made for. */
function configMap(
  prefix: string,
  namespace: string,
  labels: Record<string, string>,
  data: Readonly<Record<string, string>>,
): ConfigMap {
  const name = `${prefix}-${contentHash(data)}`;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels },
    immutable: true,
    data,
  };
}
