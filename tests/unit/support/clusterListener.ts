import type { ClusterListener } from "../../../runtime/engine/clusterListener";

const ignore = () => {};

/** A listener that does nothing. */
export const DEAF: ClusterListener = {
  objectChanged: ignore,
  objectGone: ignore,
  childChanged: ignore,
  childrenUnserved: ignore,
  usedChanged: ignore,
  memoryLost: ignore,
  kindListed: ignore,
};
