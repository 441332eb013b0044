/** One sample of Prometheus' text format. */
export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The samples of one metric in a text of Prometheus' format. Label values with escapes are left as they are written. */
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
