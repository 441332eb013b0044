import type { Manifest } from "../../../runtime/base/objects";
import type { ChaosSpec } from "../spec";

/**
 * The children that the handler answers for an object.
 * @param version the version of the handler's files
 */
export function childrenOf(name: string, spec: ChaosSpec, version: number): Manifest[];
