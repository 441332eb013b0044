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
  /** The author's files: one, or a few where they are more than one can hold. None if they come from an image. */
  readonly handler: readonly HandlerConfigMap[];
}

/** A ConfigMap of the author's files. */
export interface HandlerConfigMap {
  readonly manifest: ConfigMap;
  /** Which key of it is which file. */
  readonly items: readonly KeyToPath[];
}

/**
 * Builds the ConfigMaps of an operator, beside the one of the engine.
 *
 * @param engine - see {@link buildEngineFiles}
 * @throws OperatorError where a file of the author's cannot be carried
 */
export function buildFiles(operator: Operator, options: OperatorOptions, engine: ConfigMap): OperatorFiles {
  const { namespace } = options.platform;
  const build = (role: string, content: Content) =>
    configMap(`${operator.name}-${role}`, namespace, labelsOf(operator.name, role), content);
  return {
    engine,
    definition: build("definition", { data: { [DEFINITION_FILE]: definitionOf(operator) } }),
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
 * @param files - the texts of engine.js and handler.sh by name
 */
export function buildEngineFiles(
  name: string,
  namespace: string,
  files: Readonly<Record<string, string>>,
): ConfigMap {
  return configMap(`${name}-engine`, namespace, labelsOf(name, "engine"), { data: files });
}

/** What the handler's container alone is told is no business of the engine's. */
function definitionOf(operator: Operator): string {
  return definitionFileContent({ ...operator, env: {}, secretEnv: {}, resources: {} });
}

/** What a ConfigMap holds: texts, and other files in base64. */
interface Content {
  readonly data: Readonly<Record<string, string>>;
  readonly binaryData?: Readonly<Record<string, string>>;
}

/** Immutable: the kubelet need not watch it, and no pod sees another content than the one that it was made for. */
function configMap(
  prefix: string,
  namespace: string,
  labels: Record<string, string>,
  { data, binaryData = {} }: Content,
): ConfigMap {
  const name = `${prefix}-${contentHash({ ...data, ...binaryData })}`;
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace, labels },
    immutable: true,
    data,
    ...(Object.keys(binaryData).length > 0 && { binaryData }),
  };
}
