import type { Operator } from "../../../runtime/program";
import type { Resources } from "../kinds";

/** What a handler asks for where its author says nothing of it. */
const HANDLER_REQUESTS: Readonly<Record<string, string>> = { cpu: "50m", memory: "64Mi" };

/**
 * What the handler of an operator asks for. A resource with a limit of the author's gets no request of ours: it might be
 * larger than the limit.
 */
export function handlerResources({ resources: { requests = {}, limits = {} } }: Operator): Resources {
  const ours = Object.entries(HANDLER_REQUESTS).filter(([name]) => !(name in limits));
  return {
    requests: { ...Object.fromEntries(ours), ...requests },
    ...(Object.keys(limits).length > 0 && { limits }),
  };
}
