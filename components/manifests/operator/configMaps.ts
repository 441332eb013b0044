import { DEFINITION_FILE, definitionFileContent, type Operator } from "../../../runtime/program";
import { buildConfigMap, type ConfigMapContent } from "../configMaps";
import type { ConfigMap } from "../kinds";
import { labelsOf } from "../metadata";
import { handlerFiles, type KeyToPath } from "./handlerFiles";
import type { OperatorOptions } from "./options";

/** The ConfigMaps that an operator's pods mount. Other content makes another ConfigMap, and so a roll-out. */
export interface OperatorFiles {
  /** The engine, and its helpers in the handler's container. The same for all operators of a program. */
  readonly engine: ConfigMap;
  /** operator.json. */
  readonly definition: ConfigMap;
  /** The author's files: in one ConfigMap, or in several if one cannot hold them. None if they come from an image. */
  readonly handler: readonly HandlerConfigMap[];
}

/** A ConfigMap of the author's files. */
export interface HandlerConfigMap {
  readonly manifest: ConfigMap;
  /** Which key of the ConfigMap is which file. */
  readonly items: readonly KeyToPath[];
}

/**
 * Builds the ConfigMaps of an operator, except the engine's.
 *
 * @param engine - see {@link buildEngineFiles}
 * @throws OperatorError if a file of the author's cannot be deployed
 */
export function buildFiles(operator: Operator, options: OperatorOptions, engine: ConfigMap): OperatorFiles {
  const { namespace } = options.platform;
  const build = (role: string, content: ConfigMapContent, labels: Record<string, string> = {}) =>
    buildConfigMap(
      `${operator.name}-${role}`,
      namespace,
      { ...labelsOf(operator.name, role), ...labels },
      content,
    );
  const version = { "app.kubernetes.io/version": options.argosyVersion };
  return {
    engine,
    // In a label and not in the content: a new version alone rolls nothing out.
    definition: build("definition", { data: { [DEFINITION_FILE]: definitionOf(operator) } }, version),
    handler: operator.files
      ? []
      : handlerFiles(operator).map(({ items, ...content }) => ({
          manifest: build("handler", content),
          items,
        })),
  };
}

/**
 * Builds the engine's ConfigMap, one for all operators of a program.
 *
 * @param name - the program's: several may live in one namespace
 * @param files - the texts of the engine's files, by their names
 */
export function buildEngineFiles(
  name: string,
  namespace: string,
  files: Readonly<Record<string, string>>,
): ConfigMap {
  return buildConfigMap(`${name}-engine`, namespace, labelsOf(name, "engine"), { data: files });
}

/** The operator as the engine needs it, without the settings of the handler's container alone. */
function definitionOf(operator: Operator): string {
  return definitionFileContent({ ...operator, env: {}, secretEnv: {}, resources: {} });
}
