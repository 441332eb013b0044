/**
 * The halves of Argo: the argument that says who installs each, what its CRDs are labelled with, and a CRD by which it is known.
 */
export const HALVES = [
  {
    argument: "argoEvents",
    title: "Argo Events",
    product: "argo-events",
    crd: "eventsources.argoproj.io",
  },
  {
    argument: "argoWorkflows",
    title: "Argo Workflows",
    product: "argo-workflows",
    crd: "workflows.argoproj.io",
  },
] as const;

/** A half of Argo. */
export type Half = (typeof HALVES)[number];
