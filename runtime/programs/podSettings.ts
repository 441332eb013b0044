import type { ListenAddress } from "../base/http/listen";
import { POD_LAYOUT, RUNNER_PORTS } from "./layout";

/** Where the files of a pod are. */
export interface PodRoot {
  /** A prefix of every path of {@link POD_LAYOUT}. @default "" */
  readonly root: string;
}

/** The settings that are fixed for a runner in a pod. Tests run several runners on one machine and need other values. */
export interface PodSettings extends PodRoot {
  /** The address to listen on. @default every address of the pod */
  readonly host?: string;
  /** @default {@link RUNNER_PORTS} */
  readonly ports: { readonly hints: number; readonly metrics: number };
  /** How long a lease holds without renewal, in seconds. @default 15 */
  readonly leaseSeconds: number;
}

/** The environment variable by which a test gives other settings, as JSON. No manifest sets it. */
export const SETTINGS_VARIABLE = "ARGOSY_TEST_POD";

const IN_A_POD: PodSettings = {
  root: "",
  ports: RUNNER_PORTS,
  leaseSeconds: 15,
};

/** The settings of this process. */
export function readSettings(env: Readonly<Record<string, string | undefined>>): PodSettings {
  const given = env[SETTINGS_VARIABLE];
  return given === undefined ? IN_A_POD : { ...IN_A_POD, ...(JSON.parse(given) as Partial<PodSettings>) };
}

/** The path of a part of the pod. */
export function pathOf({ root }: PodRoot, what: keyof typeof POD_LAYOUT): string {
  return root + POD_LAYOUT[what];
}

/** The address of one of the runner's servers. */
export function addressOf({ host, ports }: PodSettings, server: keyof PodSettings["ports"]): ListenAddress {
  return { port: ports[server], ...(host !== undefined && { host }) };
}
