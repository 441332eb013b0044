/** A metric that an expression reads, and the labels that it names of it. */
export interface MetricUse {
  readonly metric: string;
  readonly labels: readonly string[];
}

/** Words of PromQL that stand where a metric could (https://prometheus.io/docs/prometheus/latest/querying/operators/). */
const WORDS = ["and", "or", "unless", "bool", "on", "ignoring", "group_left", "group_right"];
const NAME = /[a-zA-Z_:][a-zA-Z0-9_:]*/g;
/** Clauses of labels: those that `on` and `ignoring` compare are named by both sides, and not read here. */
const GROUPING = /\b(?:by|without)\s*\(([^)]*)\)/g;

/**
 * The metrics of an expression, as far as ours go: no subqueries, no offsets, no braces in texts. The labels of a
 * clause count for every metric of the expression.
 */
export function metricsIn(expr: string): MetricUse[] {
  const texts = expr.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/\[[^\]]*\]/g, "");
  const clauses = [...texts.matchAll(GROUPING)].flatMap(([, labels = ""]) => labels.match(NAME) ?? []);
  const plain = texts.replace(GROUPING, " ");
  return [...plain.matchAll(/([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(\(|\{([^}]*)\})?/g)].flatMap(
    ([, metric = "", after = "", matchers = ""]) => {
      if (after === "(" || WORDS.includes(metric)) return [];
      return [{ metric, labels: [...new Set([...(matchers.match(NAME) ?? []), ...clauses])] }];
    },
  );
}
