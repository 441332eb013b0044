import { defineOperator } from "../../runtime/definition/definition";

export default defineOperator({
  crd: "crd.yaml",
  handler: { image: "python:3.13-slim", command: ["python3", "main.py"] },
  children: [
    { apiVersion: "apps/v1", kind: "Deployment" },
    { apiVersion: "v1", kind: "Service" },
  ],
});
