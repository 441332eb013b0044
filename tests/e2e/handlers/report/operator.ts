import type { OperatorDefinition } from "../../../../runtime/definition/definition";

// Only a type is imported: the e2e copies this folder to a place from which that path leads nowhere.
export default {
  crd: "crd.yaml",
  execution: "pod",
  handler: { image: "node:22-alpine", command: ["node", "main.js"] },
  children: [{ apiVersion: "v1", kind: "ConfigMap" }],
  timeoutSeconds: 180,
  resyncSeconds: 60,
} satisfies OperatorDefinition;
