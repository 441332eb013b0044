/** One sample of Prometheus' text format. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of one metric in a text of Prometheus' format. Escapes in label values are kept. */
export function parseMetrics(text: string, metric: string): Sample[] {
  return text
    .split("\n")
    .filter((line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `))
    .map((line) => {
      const [, labels = "", value = ""] = /^[^{ ]+(?:\{(.*)\})? (\S+)/.exec(line) ?? [];
      const pairs = [...labels.matchAll(/([a-zA-Z_][\w]*)="((?:[^"\\]|\\.)*)"/g)];
      return {
        labels: Object.fromEntries(pairs.map(([, name = "", content = ""]) => [name, content])),
        value: Number(value),
      };
    });
}

const WRITE_VERBS = new Set(["POST", "PUT", "PATCH", "APPLY", "DELETE", "DELETECOLLECTION"]);

/**
 * The writes that an API server has answered, by verb and resource, such as "PATCH memcacheds/status". Writes of leases are left
 * out, because every leader renews them.
 * @see https://kubernetes.io/docs/reference/instrumenting/metrics/ apiserver_request_total
 */
export function countWrites(text: string): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { labels, value } of parseMetrics(text, "apiserver_request_total")) {
    const { verb = "", resource = "", subresource } = labels;
    if (!WRITE_VERBS.has(verb) || resource === "leases") continue;
    const what = `${verb} ${resource}${subresource ? `/${subresource}` : ""}`;
    counts.set(what, (counts.get(what) ?? 0) + value);
  }
  return counts;
}
