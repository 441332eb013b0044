import { RUNNER_PORTS } from "../../../runtime/programs/layout";
import type { Objects } from "../../objects";
import { parseMetrics } from "../metrics";
import { OPERATOR_NAMESPACE } from "./form";
import { POD } from "./readiness";

/** Events that reached a runner, by the source that reported the change first. */
export interface Hints {
  /** The runner's own watch had already reported the change. */
  readonly watchFirst: number;
  /** The event came first, and began the run. */
  readonly eventFirst: number;
}

/** The counters from the runners' metrics. Undefined if they cannot be read, for example because of a NetworkPolicy. */
export async function hintsOf(objects: Objects): Promise<Hints | undefined> {
  const label = "app.kubernetes.io/component=runner";
  const pods = await objects.list(POD, OPERATOR_NAMESPACE, label);
  try {
    const paths = pods.map(
      ({ metadata: { name } }) =>
        `/api/v1/namespaces/${OPERATOR_NAMESPACE}/pods/${name}:${RUNNER_PORTS.metrics}/proxy/metrics`,
    );
    return parseHints((await Promise.all(paths.map((path) => objects.text(path)))).join("\n"));
  } catch {
    return undefined;
  }
}

/** The counters of one or more runners. */
export function parseHints(metrics: string): Hints {
  const samples = parseMetrics(metrics, "argosy_hints_total");
  const sum = (result: string) =>
    samples
      .filter(({ labels }) => labels["result"] === result)
      .reduce((total, { value }) => total + value, 0);
  return { watchFirst: sum("known"), eventFirst: sum("queued") };
}

/** The difference between two readings. */
export function hintsBetween(before: Hints, after: Hints | undefined): Hints | undefined {
  return (
    after && {
      watchFirst: after.watchFirst - before.watchFirst,
      eventFirst: after.eventFirst - before.eventFirst,
    }
  );
}
