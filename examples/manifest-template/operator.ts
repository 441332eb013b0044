import { defineOperator } from "../../runtime/definition/definition";

export default defineOperator({
  crd: "crd.yaml",
  handler: { image: "node:22-alpine", command: ["node", "main.js"] },
  children: [{ apiVersion: "apps/v1", kind: "Deployment" }],
});
