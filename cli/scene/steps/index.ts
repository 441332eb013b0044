import type { Step } from "../scene";
import type { Stage } from "../stage";
import { childrenSteps } from "./children";
import { deletionSteps } from "./deletion";
import { mistakeSteps } from "./mistakes";
import { refusalSteps } from "./refusals";

/** The whole scene: a Memcached from its creation to its end. */
export const steps: readonly Step<Stage>[] = [
  ...childrenSteps,
  ...refusalSteps,
  ...mistakeSteps,
  ...deletionSteps,
];
