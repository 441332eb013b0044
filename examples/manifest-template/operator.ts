import { defineOperator } from "../../runtime/definition/definition";

export default defineOperator({
  crd: "crd.yaml",
  handler: "main.js",
  image: "node:22-alpine",
  children: [{ apiVersion: "apps/v1", kind: "Deployment" }],
});
