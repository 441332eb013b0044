import { setTimeout as pause } from "node:timers/promises";
import { controlPlaneProcess, findControlPlane, signal } from "../../../tools/chaos/inCluster/processes";
import { session } from "./hooks";
import { tell } from "./progress";

/** For how many seconds the API server is frozen, where it may be. */
const AWAY = "ARGOSY_E2E_API_AWAY_SECONDS";

/**
 * Freezes the cluster's API server for a while. Only where {@link AWAY} says for how long, and its process is on this
 * machine: an API server that others use as well is left alone.
 *
 * @returns whether it was
 */
export async function freezeApiServer(): Promise<boolean> {
  const seconds = Number(process.env[AWAY] ?? 0);
  if (seconds === 0) {
    tell(`the API server is left alone: ${AWAY} does not say for how long it may be frozen`);
    return false;
  }
  const frozen = controlPlaneProcess(findControlPlane(session().connection.server).apiServer);
  tell(`the API server is frozen for ${seconds} s`);
  signal(frozen, "SIGSTOP");
  try {
    await pause(seconds * 1000);
  } finally {
    signal(frozen, "SIGCONT");
  }
  return true;
}
