import type { PolicyRule } from "../../../runtime/program";

const KINDS = ["eventbus", "eventsources", "sensors"];

/** It reads by a cache, which lists and watches, and gets nothing (controller-runtime's `Manager.GetClient`). */
const READ = ["list", "watch"];

/**
 * What the events controller does in the namespace that it manages, for an EventBus of JetStream and for event
 * sources without a Service (argo-events, pkg/reconciler). It reads no pod, records no event, and, being alone, holds
 * no lease; in its own namespace it does nothing at all.
 */
export const ARGO_EVENTS_RULES: readonly PolicyRule[] = [
  // Updated for their finalizers only.
  { apiGroups: ["argoproj.io"], resources: KINDS, verbs: [...READ, "update"] },
  { apiGroups: ["argoproj.io"], resources: KINDS.map((plural) => `${plural}/status`), verbs: ["update"] },
  // Without it the admission plugin OwnerReferencesPermissionEnforcement refuses what they own.
  { apiGroups: ["argoproj.io"], resources: KINDS.map((plural) => `${plural}/finalizers`), verbs: ["update"] },
  // Event sources and sensors are Deployments, the event bus is a StatefulSet.
  { apiGroups: ["apps"], resources: ["deployments", "statefulsets"], verbs: [...READ, "create", "update"] },
  { apiGroups: [""], resources: ["configmaps", "services"], verbs: [...READ, "create", "update"] },
  // The event bus's certificates and passwords, which it looks for by listing (installer/jetstream.go, getSecret).
  { apiGroups: [""], resources: ["secrets"], verbs: ["list", "create", "delete"] },
  // A StatefulSet leaves its volumes behind: they go with the EventBus (installer/jetstream.go, uninstallPVCs).
  { apiGroups: [""], resources: ["persistentvolumeclaims"], verbs: [...READ, "delete"] },
];
