import type { Operator } from "../../runtime/definition/definition";
import { createArgosyPeer } from "./argosy";
import { createControllerRuntimePeer, createRaisedControllerRuntimePeer } from "./controllerRuntime";
import { createKopfPeer } from "./kopf";
import type { Peer } from "./peer";

/**
 * Every operator of the benchmark, in the order of its table.
 * @param memcached Argosy's operator for Memcacheds. The others do the same as this operator
 */
export function createPeers(memcached: Operator): Peer[] {
  return [
    createArgosyPeer(memcached),
    createKopfPeer(),
    createControllerRuntimePeer(),
    createRaisedControllerRuntimePeer(),
  ];
}
