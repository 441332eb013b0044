/** The choices of the argument `data`, which explains them. */
export const DATA_MODES = ["keep", "protect", "delete"] as const;
/** What becomes of CRDs and namespaces, with all that users have in them: see the argument `data` of `Operators`. */
export type DataMode = (typeof DATA_MODES)[number];
