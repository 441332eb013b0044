import assert from "node:assert/strict";
import {
  buildArgoEventsDefinitions,
  buildArgoWorkflowsDefinitions,
} from "../../components/manifests/platform/definitions";
import type { JsonObject, Manifest } from "../../runtime/kubernetes/objects";
import { platformOptions } from "./support/platform";

interface Version {
  readonly subresources?: { readonly status?: object };
  readonly schema: {
    readonly openAPIV3Schema: { readonly properties: JsonObject; readonly required: string[] };
  };
  readonly additionalPrinterColumns?: readonly { readonly name: string; readonly jsonPath: string }[];
}

const specOf = ({ spec }: Manifest) =>
  spec as {
    group: string;
    scope: string;
    names: { kind: string; listKind: string; plural: string; singular: string; shortNames?: string[] };
    versions: Version[];
  };
const definitions = [
  ...Object.values(buildArgoEventsDefinitions(platformOptions())),
  ...Object.values(buildArgoWorkflowsDefinitions(platformOptions())),
];
const versionOf = (definition: Manifest): Version => {
  const [version, ...others] = specOf(definition).versions;
  assert.ok(version && others.length === 0);
  return version;
};

/** As in manifests/base/crds of Argo Events 1.9.11 and Argo Workflows 4.1.2: names, whether status is a subresource. */
const KINDS: readonly (readonly [string, string, string, string[], boolean])[] = [
  ["EventBus", "eventbus", "Namespaced", ["eb"], true],
  ["EventSource", "eventsources", "Namespaced", ["es"], true],
  ["Sensor", "sensors", "Namespaced", ["sn"], true],
  ["Workflow", "workflows", "Namespaced", ["wf"], false],
  ["WorkflowTemplate", "workflowtemplates", "Namespaced", ["wftmpl"], false],
  ["ClusterWorkflowTemplate", "clusterworkflowtemplates", "Cluster", ["clusterwftmpl", "cwft"], false],
  ["CronWorkflow", "cronworkflows", "Namespaced", ["cwf", "cronwf"], false],
  ["WorkflowEventBinding", "workfloweventbindings", "Namespaced", ["wfeb"], false],
  ["WorkflowTaskSet", "workflowtasksets", "Namespaced", ["wfts"], true],
  ["WorkflowTaskResult", "workflowtaskresults", "Namespaced", [], false],
  ["WorkflowArtifactGCTask", "workflowartifactgctasks", "Namespaced", ["wfat"], true],
];

describe("the definitions of Argo's kinds", () => {
  it("have Argo's names, scopes and subresources", () => {
    const found = definitions.map((definition) => {
      const { names, scope } = specOf(definition);
      const { subresources } = versionOf(definition);
      return [names.kind, names.plural, scope, names.shortNames ?? [], subresources?.status !== undefined];
    });
    assert.deepStrictEqual(found, KINDS);
  });

  it("are named after their plural and group, and waited for until they are established", () => {
    for (const definition of definitions) {
      const { group, names } = specOf(definition);
      assert.equal(group, "argoproj.io");
      assert.equal(definition.metadata.name, `${names.plural}.${group}`);
      assert.equal(names.listKind, `${names.kind}List`);
      // A list, as Pulumi reads it (pulumi-kubernetes, provider/pkg/metadata/overrides.go, ReadyCondition).
      const waitFor = definition.metadata.annotations?.["pulumi.com/waitFor"] ?? "";
      assert.deepStrictEqual(JSON.parse(waitFor), ["condition=Established"]);
    }
  });

  it("keep every field that a controller writes", () => {
    for (const definition of definitions) {
      const { properties, required } = versionOf(definition).schema.openAPIV3Schema;
      const { apiVersion: _apiVersion, kind: _kind, metadata: _metadata, ...fields } = properties;
      for (const [field, schema] of Object.entries(fields) as [string, JsonObject][]) {
        if (schema.type === "object")
          assert.equal(schema["x-kubernetes-preserve-unknown-fields"], true, field);
        else assert.equal(schema.type, "string", field);
      }
      for (const field of required) assert.ok(field in properties, field);
    }
    const result = definitions.find(({ metadata }) => metadata.name.startsWith("workflowtaskresults."));
    assert.ok(result);
    const { properties } = versionOf(result).schema.openAPIV3Schema;
    for (const field of ["phase", "message", "outputs", "progress"]) assert.ok(field in properties, field);
  });

  it("show the age wherever they show something else", () => {
    for (const definition of definitions) {
      const columns = versionOf(definition).additionalPrinterColumns;
      if (columns) assert.ok(columns.some(({ name }) => name === "Age"));
    }
  });

  it("are small: all together less than what Argo takes for one", () => {
    assert.ok(JSON.stringify(definitions).length < 16_000);
  });
});
