import assert from "node:assert/strict";
import { forGitOps } from "../../cli/render/gitOps";
import { labelsOf } from "../../components/manifests/metadata";
import { OPERATOR_LABEL } from "../../runtime/base/names";
import type { Manifest } from "../../runtime/base/objects";

const RBAC = "rbac.authorization.k8s.io/v1";
const CRDS = "apiextensions.k8s.io/v1";
const [WAVE, OPTIONS, PRUNE] = [
  "argocd.argoproj.io/sync-wave",
  "argocd.argoproj.io/sync-options",
  "kustomize.toolkit.fluxcd.io/prune",
];

const object = (
  apiVersion: string,
  kind: string,
  labels: Record<string, string> = {},
  more: object = {},
): Manifest => ({
  apiVersion,
  kind,
  metadata: { name: "a", labels },
  ...more,
});
const CRD = {
  ...object(CRDS, "CustomResourceDefinition", { [OPERATOR_LABEL]: "argosy.cache" }),
  spec: { group: "cache.example.com", names: { kind: "Memcached" } },
};

describe("rendered for Argo CD and Flux", () => {
  const runner = labelsOf("cache", "runner");
  const table: [string, Manifest, boolean, Record<string, string>][] = [
    [
      "a namespace that is kept",
      object("v1", "Namespace", labelsOf("argosy", "operators")),
      true,
      { [OPTIONS]: "Prune=false,Delete=false", [PRUNE]: "disabled" },
    ],
    ["one that is not", object("v1", "Namespace", labelsOf("argosy", "operators")), false, {}],
    [
      "a CRD of Argo's",
      object(CRDS, "CustomResourceDefinition", labelsOf("argo-events", "definitions")),
      false,
      {},
    ],
    [
      "a controller of Argo's",
      object("apps/v1", "Deployment", labelsOf("argo-workflows", "controller")),
      false,
      {},
    ],
    [
      "the event bus",
      object("argoproj.io/v1alpha1", "EventBus", labelsOf("argosy", "event-bus")),
      false,
      { [WAVE]: "1" },
    ],
    ["the runner", object("apps/v1", "Deployment", runner), false, { [WAVE]: "1" }],
    ["its rights", object(RBAC, "Role", runner), false, { [WAVE]: "1" }],
    [
      "its files",
      object("v1", "ConfigMap", labelsOf("cache", "handler"), { immutable: true }),
      false,
      { [WAVE]: "1", [OPTIONS]: "PruneLast=true" },
    ],
    [
      "an operator's CRD that is kept",
      CRD,
      true,
      { [WAVE]: "2", [OPTIONS]: "Prune=false,Delete=false", [PRUNE]: "disabled" },
    ],
    ["one that is not", CRD, false, { [WAVE]: "2" }],
    ["an object of this kind", object("cache.example.com/v1", "Memcached"), false, { [WAVE]: "3" }],
    ["what else a program has", object("v1", "ConfigMap", {}, { immutable: true }), false, {}],
    [
      "a wave of its own",
      { ...CRD, metadata: { ...CRD.metadata, annotations: { [WAVE]: "7" } } },
      false,
      { [WAVE]: "7" },
    ],
  ];
  for (const [what, manifest, isKept, annotations] of table)
    it(`${what}: ${JSON.stringify(annotations)}`, () => {
      const [, made] = forGitOps([CRD, manifest], (each) => isKept && each === manifest);
      assert.deepEqual(made?.metadata.annotations ?? {}, annotations);
      assert.deepEqual({ ...made, metadata: {} }, { ...manifest, metadata: {} });
    });
});
