// biome-ignore-all assist/source/organizeImports: the analyzer stops at the component, so the types must come before it

// The component as every language of Pulumi sees it. Pulumi's analyzer makes schema.json from these files (../schema.ts). The
// analyzer accepts only flat, plain types: no readonly list, no union, no tuple, no component as an output. Each comment becomes
// the text in every SDK, so defaults are in the text and not in a tag. SDKs add "Args" to the names of types. An argument without
// pulumi.Input must be known when the program runs.

export type * from "./platform";
export type * from "./pods";

export type * from "./operators";
