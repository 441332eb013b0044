import { defineOperator } from "../../runtime/definition/definition";

export default defineOperator({
  crd: "crd.yaml",
  handler: "main.py",
  children: [
    { apiVersion: "apps/v1", kind: "Deployment" },
    { apiVersion: "v1", kind: "Service" },
  ],
});
