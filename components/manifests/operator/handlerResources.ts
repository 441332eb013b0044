import type { Operator } from "../../../runtime/program";
import type { Resources } from "../kinds";

/** The requests of a handler if its author gives none. */
const HANDLER_REQUESTS: Readonly<Record<string, string>> = { cpu: "50m", memory: "64Mi" };

/**
 * The resources of an operator's handler. If the author gives a limit for a resource, it gets no request of ours, because that
 * might be larger than the limit.
 */
export function handlerResources({ resources: { requests = {}, limits = {} } }: Operator): Resources {
  const ours = Object.entries(HANDLER_REQUESTS).filter(([name]) => !(name in limits));
  return {
    requests: { ...Object.fromEntries(ours), ...requests },
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
