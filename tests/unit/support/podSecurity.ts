import assert from "node:assert/strict";
import { isRecord } from "../../../runtime/base/json";
import type { Manifest } from "../../../runtime/base/objects";

/** What the `restricted` Pod Security Standard looks at of a pod. */
interface Pod {
  readonly name: string;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly securityContext: unknown;
  readonly volumes: readonly Readonly<Record<string, unknown>>[];
  readonly containers: readonly Readonly<Record<string, unknown>>[];
}

const VOLUMES = ["configMap", "downwardAPI", "emptyDir", "persistentVolumeClaim", "projected", "secret"];

/**
 * Every breach of the `restricted` Pod Security Standard in the pods of a manifest, and every root that may be written to, those that Argo's controllers make of it
 * included (https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted).
 */
export function breachesOf(manifest: Manifest): string[] {
  return podsOf(manifest).flatMap((pod) => {
    const breach = (what: string) => `${manifest.kind} ${manifest.metadata.name}: ${pod.name} ${what}`;
    const own = isRecord(pod.securityContext) ? pod.securityContext : {};
    const breaches = ["hostNetwork", "hostPID", "hostIPC"].filter((field) => pod.fields[field] === true);
    if (own["runAsNonRoot"] !== true || own["runAsUser"] === 0) breaches.push("may run as root");
    if (!isRecord(own["seccompProfile"]) || own["seccompProfile"]["type"] !== "RuntimeDefault") {
      breaches.push("has no seccomp profile");
    }
    for (const { name, ...volume } of pod.volumes) {
      if (!Object.keys(volume).every((source) => VOLUMES.includes(source)))
        breaches.push(`has the volume ${name}`);
    }
    for (const { name = "", securityContext, ports } of pod.containers) {
      const security = isRecord(securityContext) ? securityContext : {};
      const { capabilities } = security;
      const dropped = isRecord(capabilities) ? capabilities["drop"] : undefined;
      if (security["allowPrivilegeEscalation"] !== false) breaches.push(`${name} may escalate`);
      if (security["readOnlyRootFilesystem"] !== true) breaches.push(`${name} may write to its root`);
      if (security["privileged"] === true) breaches.push(`${name} is privileged`);
      if (!Array.isArray(dropped) || !dropped.includes("ALL")) breaches.push(`${name} keeps capabilities`);
      if (JSON.stringify(ports ?? []).includes("hostPort")) breaches.push(`${name} has a port of the host`);
    }
    return breaches.map(breach);
  });
}

/** The pods of a manifest, each with all of its containers. */
export function podsOf({ kind, spec }: Manifest): Pod[] {
  const pod = (name: string, fields: Record<string, unknown>, containers: readonly unknown[]): Pod => ({
    name,
    fields,
    securityContext: fields["securityContext"],
    volumes: list(fields["volumes"]),
    containers: list(containers),
  });
  const own = spec as Record<string, Record<string, unknown>>;
  if (kind === "Deployment") {
    const fields = (own["template"] as { spec: Record<string, unknown> }).spec;
    return [pod("pod", fields, [...list(fields["initContainers"]), ...list(fields["containers"])])];
  }
  if (kind === "EventSource" || kind === "Sensor") {
    const fields = own["template"] ?? assert.fail();
    return [pod("pod", fields, [fields["container"]])];
  }
  if (kind === "EventBus") {
    const fields = own["jetstream"] ?? assert.fail();
    const templates = ["containerTemplate", "reloaderContainerTemplate", "metricsContainerTemplate"];
    return [
      pod(
        "pod",
        fields,
        templates.map((each) => fields[each]),
      ),
    ];
  }
  if (kind !== "WorkflowTemplate") return [];
  const templates = own["templates"] as unknown as readonly Record<string, unknown>[];
  return templates
    .filter(({ plugin }) => plugin === undefined)
    .map((template) => {
      const patch = JSON.parse(String(own["podSpecPatch"])) as Record<string, unknown[]>;
      const set = template["containerSet"] as { containers: unknown[] } | undefined;
      const containers = set?.containers ?? [template["container"]];
      const added = [...(patch["initContainers"] ?? []), ...(patch["containers"] ?? [])];
      const volumes = [...list(own["volumes"]), ...list(template["volumes"])];
      return pod(String(template["name"]), { ...own, volumes }, [...containers, ...added]);
    });
}

function list(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value : [];
}
