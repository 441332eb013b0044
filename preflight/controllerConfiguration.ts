import { parse } from "yaml";
import type { KubernetesObject } from "../runtime/program";

/** The part of an existing Workflow controller's configuration with which a platform must agree. */
export interface ControllerConfiguration {
  /** The ConfigMap that holds it, as "namespace/name". */
  readonly configMap: string;
  /** The controller handles only Workflows with this id. Empty if it handles those without an id. */
  readonly instanceId: string;
  /** Whether the controller makes pods without an init container of Argo's. */
  readonly initlessPods: boolean;
  /**
   * Whether the controller accepts only Workflows that refer to a WorkflowTemplate. If not, any user who may create Workflows can
   * run any pod as any account of the namespace.
   */
  readonly takesOnlyTemplates: boolean;
}

/**
 * No configuration is longer, in characters. Any user who may create ConfigMaps can name one like that of a controller, and to read a
 * large one would hold up `pulumi up` for minutes.
 */
const LONGEST = 64 * 1024;

/** How the names of these ConfigMaps end, in Argo's own manifests and in its Helm chart. */
export const CONFIG_MAP_NAME = /(^|-)workflow-controller-configmap$/;

/** The values of `templateReferencing` that require a template (argo-workflows, config/config.go, MustUseReference). */
const RESTRICTING: readonly unknown[] = ["Strict", "Secure"];

/**
 * Reads a Workflow controller's configuration from its ConfigMap, which has all of it as YAML in the key `config`, or each field in
 * a key of its own (argo-workflows, config/controller.go).
 *
 * @returns undefined if the ConfigMap is not such a configuration
 */
export function readControllerConfiguration(
  configMap: KubernetesObject & { readonly data?: Readonly<Record<string, string>> },
): ControllerConfiguration | undefined {
  const { metadata, data = {} } = configMap;
  if (Object.values(data).join("").length > LONGEST) return undefined;
  try {
    const fields = fieldsOf(data["config"] === undefined ? eachParsed(data) : parseAsArgo(data["config"]));
    return {
      configMap: `${metadata.namespace}/${metadata.name}`,
      instanceId: String(fields["instanceid"] ?? ""),
      initlessPods: fieldsOf(fields["initlesspod"])["enabled"] === true,
      takesOnlyTemplates: RESTRICTING.includes(
        fieldsOf(fields["workflowrestrictions"])["templatereferencing"],
      ),
    };
  } catch {
    return undefined;
  }
}

function eachParsed(data: Readonly<Record<string, string>>): object {
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, parseAsArgo(value)]));
}

/** Argo reads YAML 1.1, in which "yes" and "on" are true (sigs.k8s.io/yaml). It may have any keys: none is compared with all others. */
function parseAsArgo(text: string): unknown {
  return parse(text, { version: "1.1", uniqueKeys: false });
}

/** The fields of an object, by their names in lower case: Argo takes a name in any case. */
function fieldsOf(object: unknown): Readonly<Record<string, unknown>> {
  const fields = Object.entries(object ?? {});
  return Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), value]));
}
