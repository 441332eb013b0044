import { DEFAULT_INSTALLATION, fieldManagerOf } from "../../../runtime/base/names";
import type {
  JsonObject,
  KubernetesObject,
  ManagedFieldsEntry,
  Manifest,
  ObjectMeta,
} from "../../../runtime/base/objects";
import type { Resource } from "../../../runtime/base/resource";
import type { Operator } from "../../../runtime/operator/definition";
import type { ReconcileReport } from "../../../runtime/reconcile/report";

/** The name of the operator in these tests. */
export const OPERATOR = "shop";
/** What tells it from all others. */
export const IDENTITY = { installation: DEFAULT_INSTALLATION, name: OPERATOR };
/** Its field manager. */
export const MANAGER = fieldManagerOf(IDENTITY);

/** Its custom resource's kind. */
export const WIDGETS: Resource = {
  apiVersion: "shop.example.com/v1",
  kind: "Widget",
  plural: "widgets",
  namespaced: true,
};
/** A custom resource's kind without namespaces. */
export const GLOBAL_WIDGETS: Resource = { ...WIDGETS, namespaced: false };
/** A kind of children within namespaces. */
export const CONFIG_MAPS: Resource = {
  apiVersion: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
};
/** A kind of children without namespaces. */
export const CLUSTER_ROLES: Resource = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  plural: "clusterroles",
  namespaced: false,
};

/** A custom resource "widget" with uid "widget-uid", in namespace "shop" unless told otherwise. */
export function widget(metadata: Partial<ObjectMeta> = {}, content: object = {}): KubernetesObject {
  return {
    ...content,
    apiVersion: WIDGETS.apiVersion,
    kind: WIDGETS.kind,
    metadata: {
      name: "widget",
      namespace: "shop",
      uid: "widget-uid",
      resourceVersion: "7",
      generation: 3,
      ...metadata,
    },
  };
}

/** A custom resource of {@link GLOBAL_WIDGETS}. */
export function globalWidget(): KubernetesObject {
  const { namespace: _, ...metadata } = widget().metadata;
  return { ...widget(), metadata };
}

/** A ConfigMap as a handler answers it. */
export function configMap(metadata: Partial<ObjectMeta> = {}, content: object = {}): Manifest {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "settings", ...metadata }, ...content };
}

/** An object as the API server gives it, of any kind. */
export function observed(
  kind: string,
  content: object = {},
  metadata: Partial<ObjectMeta> = {},
): KubernetesObject {
  return {
    apiVersion: "v1",
    kind,
    ...content,
    metadata: { name: "child", namespace: "shop", uid: "child-uid", resourceVersion: "1", ...metadata },
  };
}

/** A namespace as the API server gives it. */
export function namespace(name: string, metadata: Partial<ObjectMeta> = {}): KubernetesObject {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, uid: `${name}-uid`, resourceVersion: "1", ...metadata },
  };
}

/** The entry of an apply of a manifest: its fields, in which lists are owned as a whole but for owner references. */
export function entryOf(manifest: Manifest, manager: string): ManagedFieldsEntry & { fieldsV1: JsonObject } {
  const { apiVersion: _a, kind: _k, metadata, ...content } = manifest;
  // What only makes a condition of the write is no field that is owned.
  const { name: _n, namespace: _ns, uid: _u, resourceVersion: _r, ...owned } = metadata;
  const { ownerReferences, finalizers, ...meta } = owned;
  const references = (ownerReferences ?? []).map(({ uid }) => [`k:${JSON.stringify({ uid })}`, {}]);
  const fieldsV1 = {
    ...fieldsOf(content),
    "f:metadata": {
      ...fieldsOf(meta),
      ...(ownerReferences && { "f:ownerReferences": Object.fromEntries(references) }),
      ...(finalizers && {
        "f:finalizers": Object.fromEntries(finalizers.map((each) => [`v:${JSON.stringify(each)}`, {}])),
      }),
    },
  };
  return { manager, operation: "Apply", fieldsV1 };
}

function fieldsOf(value: object): JsonObject {
  const isMap = (inner: unknown): inner is object =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner);
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [`f:${key}`, isMap(inner) ? fieldsOf(inner) : {}]),
  );
}

/** What the API server makes of a manifest that `manager` applies. @param metadata more of it */
export function applied(
  manifest: Manifest,
  manager: string,
  metadata: Partial<ObjectMeta> = {},
): KubernetesObject {
  return {
    ...manifest,
    metadata: {
      ...manifest.metadata,
      uid: "child-uid",
      resourceVersion: "1",
      managedFields: [entryOf(manifest, manager)],
      ...metadata,
    },
  };
}

/** An operator with every default, of {@link WIDGETS} with ConfigMaps and ClusterRoles as children. */
export function operator(more: Partial<Operator> = {}): Operator {
  return {
    ...IDENTITY,
    formerNames: [],
    folder: "/nowhere",
    overridden: [],
    handler: { image: "python:3.13-slim", command: ["python3", "main.py"] },
    children: [
      { apiVersion: "v1", kind: "ConfigMap", update: "apply", plural: "configmaps" },
      { apiVersion: CLUSTER_ROLES.apiVersion, kind: "ClusterRole", update: "never", plural: "clusterroles" },
    ],
    customResource: {
      group: "shop.example.com",
      version: "v1",
      kind: "Widget",
      plural: "widgets",
      namespaced: true,
    },
    crd: {},
    execution: "resident",
    concurrency: 4,
    timeoutSeconds: 30,
    resyncSeconds: 600,
    namespaces: "all",
    finalize: false,
    resources: {},
    env: {},
    secretEnv: {},
    record: "changes",
    rules: [],
    grants: [],
    uses: {},
    ...more,
  };
}

/** A report of a run of {@link widget} that went well and changed nothing. */
export function reconcileReport(more: Partial<ReconcileReport> = {}): ReconcileReport {
  return {
    id: "a-run",
    operator: OPERATOR,
    kind: "Widget",
    name: "widget",
    event: "reconcile",
    attempt: 1,
    result: "succeeded",
    changes: [],
    log: "",
    durationMs: 1,
    ...more,
  };
}
