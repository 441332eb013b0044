/** The halves of Argo: the argument that says who installs each, and a CRD by which it is known. */
export const HALVES = [
  { argument: "argoEvents", title: "Argo Events", crd: "eventsources.argoproj.io" },
  { argument: "argoWorkflows", title: "Argo Workflows", crd: "workflows.argoproj.io" },
] as const;

/** A half of Argo. */
export type Half = (typeof HALVES)[number];
