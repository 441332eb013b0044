import type { JsonObject } from "../../../runtime/base/objects";

const TEXT: JsonObject = { type: "string" };
const TIME: JsonObject = { type: "string", format: "date-time" };
const KEYED: JsonObject = { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"] };

/** A list of conditions with these fields in addition to type, status, reason and message. */
function conditions(fields: JsonObject, list: JsonObject = {}, item: JsonObject = {}): JsonObject {
  const properties = { type: TEXT, status: TEXT, reason: TEXT, message: TEXT, ...fields };
  return {
    conditions: {
      type: "array",
      items: { type: "object", required: ["type", "status"], properties, ...item },
      ...list,
    },
  };
}

function status(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties: { phase: TEXT, note: TEXT, ...properties }, ...more };
}

const KEEPING: JsonObject = { "x-kubernetes-preserve-unknown-fields": true };

/** The shapes of status in well-known CRDs, made small. Undefined: no schema of a status. */
export const STATUS_SHAPES: Readonly<Record<string, JsonObject | undefined>> = {
  "no status at all (CloudNativePG's ImageCatalog)": undefined,
  "no conditions (Rook's CephNFS)": status({}),
  "conditions with the key type (cert-manager's Certificate)": status(
    conditions({ lastTransitionTime: TIME, observedGeneration: { type: "integer", format: "int64" } }, KEYED),
  ),
  "conditions with a key and without a generation (cert-manager's CertificateRequest)": status(
    conditions({ lastTransitionTime: TIME }, KEYED),
  ),
  "one list of standard conditions (CloudNativePG's Cluster)": status(
    conditions(
      { lastTransitionTime: TIME, observedGeneration: { type: "integer", format: "int64", minimum: 0 } },
      {},
      { required: ["lastTransitionTime", "message", "reason", "status", "type"] },
    ),
  ),
  "one list whose entries have texts for times (Strimzi's Kafka)": status(
    conditions({ lastTransitionTime: TEXT }, {}, { required: [] }),
  ),
  "one list whose entries have a severity (Knative's Service)": status(
    conditions({ lastTransitionTime: TEXT, severity: TEXT }),
  ),
  "one list whose entries have no time (KEDA's ScaledObject)": status(conditions({})),
  "one list whose entries have other times (Rook's CephCluster)": status(
    conditions({ lastTransitionTime: TIME, lastHeartbeatTime: TIME }),
    { ...KEEPING, nullable: true },
  ),
  "one list with a generation that may be a text (Istio's VirtualService)": status(
    {
      ...conditions({ observedGeneration: { "x-kubernetes-int-or-string": true } }),
      observedGeneration: { "x-kubernetes-int-or-string": true },
    },
    KEEPING,
  ),
  "one list whose entries keep every field (Strimzi's KafkaAccess)": status(conditions({}, {}, KEEPING)),
  "required fields (Zalando's postgresql)": status({}, { required: ["phase"] }),
  "required fields and one list (Tekton's TaskRun)": status(
    conditions({ lastTransitionTime: TEXT, severity: TEXT }),
    { required: ["phase"] },
  ),
};
