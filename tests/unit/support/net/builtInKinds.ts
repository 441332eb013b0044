import { isRecord, valueAlong } from "../../../../runtime/base/json";
import type { JsonObject, KubernetesObject, Manifest } from "../../../../runtime/base/objects";
import { Refusal, type ServedKind } from "./memoryApi";

/** Kinds of Kubernetes', as far as the API server makes something of what is written: defaults, twins, and what it keeps. */
export const BUILT_IN_KINDS: readonly ServedKind[] = [
  {
    ...{
      apiVersion: "apps/v1",
      kind: "Deployment",
      plural: "deployments",
      namespaced: true,
      hasStatus: true,
    },
    admit: (next) => withSpec(next, deploymentSpec),
  },
  {
    ...{ apiVersion: "v1", kind: "Service", plural: "services", namespaced: true, hasStatus: true },
    admit: (next, before) => withSpec(next, (spec) => serviceSpec(spec, before)),
  },
  {
    ...{ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true, hasStatus: false },
    admit: secretOf,
  },
];

function withSpec(object: Manifest, change: (spec: JsonObject) => JsonObject): Manifest {
  return { ...object, spec: change((object["spec"] ?? {}) as JsonObject) };
}

/** A strategy is the default one, and has no fields of another. An account of the pods has two names. */
function deploymentSpec({
  strategy: given,
  serviceAccountName,
  serviceAccount,
  ...spec
}: JsonObject): JsonObject {
  const strategy = { type: "RollingUpdate", ...(given as JsonObject | undefined) };
  if (strategy.type === "RollingUpdate")
    Object.assign(strategy, {
      rollingUpdate: { maxSurge: "25%", ...(valueAlong(strategy, ["rollingUpdate"]) as JsonObject) },
    });
  else if ("rollingUpdate" in strategy)
    throw invalid("spec.strategy.rollingUpdate", "may not be specified when strategy `type` is 'Recreate'");
  const name = serviceAccountName ?? serviceAccount;
  return { ...spec, strategy, ...(name !== undefined && { serviceAccountName: name, serviceAccount: name }) };
}

/** An address cannot be taken away. */
function serviceSpec({ clusterIP, ...spec }: JsonObject, before: KubernetesObject | undefined): JsonObject {
  const old = valueAlong(before, ["spec", "clusterIP"]) as string | undefined;
  if (clusterIP !== undefined && old !== undefined && clusterIP !== old)
    throw invalid("spec.clusterIP", "may not change once set");
  return { ...spec, clusterIP: clusterIP ?? old ?? "10.0.0.1" };
}

/** Texts become a part of the data. */
function secretOf({ stringData, data, ...secret }: Manifest): Manifest {
  const texts = isRecord(stringData) ? stringData : {};
  const bytes = isRecord(data) ? data : {};
  for (const [key, value] of Object.entries(texts))
    if (typeof (value ?? "") !== "string")
      throw badRequest(`.stringData.${key}: expected string, got ${value}`);
  for (const [key, value] of Object.entries(bytes))
    if (inBase64(Buffer.from(String(value ?? ""), "base64")) !== (value ?? ""))
      throw badRequest(`.data.${key}: illegal base64 data at input byte 0: ${value}`);
  const all = Object.fromEntries([
    ...Object.entries(bytes).map(([key, value]) => [key, value ?? ""]),
    ...Object.entries(texts).map(([key, text]) => [key, inBase64(Buffer.from(String(text ?? "")))]),
  ]);
  return { ...secret, ...(Object.keys(all).length > 0 && { data: all }) } as Manifest;
}

function inBase64(bytes: Buffer): string {
  return bytes.toString("base64");
}

function invalid(field: string, message: string): Refusal {
  return new Refusal(422, "Invalid", `it is invalid: ${field}: ${message}`, {
    causes: [{ reason: "FieldValueForbidden", field, message }],
  });
}

function badRequest(message: string): Refusal {
  return new Refusal(400, "BadRequest", message);
}
