import type { Manifest } from "../../runtime/program";

/**
 * Manifests by what each is for: the key is the end of its name in Pulumi's tree, "account" of
 * "argo-events-account". Registered in this order.
 */
export type ManifestSet = Readonly<Record<string, Manifest>>;
