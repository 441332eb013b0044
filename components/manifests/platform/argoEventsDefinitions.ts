import type { ManifestSet } from "../manifestSet";
import { AGE_COLUMN, ANY_OBJECT, type MinimalKind, minimalDefinition } from "./minimalDefinition";
import { ownsDefinitions, type PlatformOptions } from "./options";

/**
 * The CRDs of Argo Events, where they are ours. Their controller writes status by the subresource
 * (argo-events, pkg/reconciler/{eventbus,eventsource,sensor}/controller.go).
 */
export function buildArgoEventsDefinitions({ argoEvents }: PlatformOptions): ManifestSet {
  if (!ownsDefinitions(argoEvents)) return {};
  return Object.fromEntries(KINDS.map((each) => [each.plural, minimalDefinition("argo-events", each)]));
}

const COMMON = {
  fields: { spec: ANY_OBJECT, status: ANY_OBJECT },
  required: ["spec"],
  statusSubresource: true,
  columns: [
    {
      name: "Deployed",
      type: "string",
      description: "Whether the controller has made its pods' Deployment or StatefulSet.",
      jsonPath: '.status.conditions[?(@.type=="Deployed")].status',
    },
    AGE_COLUMN,
  ],
} satisfies Partial<MinimalKind>;

const KINDS: readonly MinimalKind[] = [
  // Its plural is irregular.
  { kind: "EventBus", plural: "eventbus", singular: "eventbus", shortNames: ["eb"], ...COMMON },
  { kind: "EventSource", plural: "eventsources", singular: "eventsource", shortNames: ["es"], ...COMMON },
  { kind: "Sensor", plural: "sensors", singular: "sensor", shortNames: ["sn"], ...COMMON },
];
