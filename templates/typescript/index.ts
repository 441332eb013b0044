import { Operators } from "@argosy-dev/argosy";

/** The operators of the folder handlers, with Argo Events and Argo Workflows. */
const operators = new Operators("operators", { handlers: "./handlers" });

export const crdNames = operators.crdNames;
export const platform = operators.platform;
