import assert from "node:assert/strict";
import type { Registry } from "prom-client";
import { type Alert, alertsOf } from "../../components/manifests/monitoring/alerts";
import dashboard from "../../components/manifests/monitoring/dashboard.json";
import { buildMonitoring } from "../../components/manifests/monitoring/monitoring";
import type { MonitoringOptions } from "../../components/manifests/platform/options";
import { checkPlatform } from "../../preflight/checkPlatform";
import type { Manifest } from "../../runtime/base/objects";
import { Intake } from "../../runtime/programs/intake/intake";
import { intakeMetrics, keeperMetrics, runnerMetrics } from "../../tools/reference/metrics";
import { fakeLook, found, SHOP } from "./support/fakeLook";
import { assertNone } from "./support/lists";
import { reconcileReport } from "./support/objects";
import { platformOptions } from "./support/platform";
import { run, runStack } from "./support/program";
import { metricsIn } from "./support/promql";
import { EVERY_FORM, operatorsProgram, sampleProgram, webhookFor } from "./support/sampleOperators";

/** What a target has by the PodMonitor, or by Prometheus itself. */
const OF_TARGETS = ["namespace", "pod", "container", "job", "component", "operator"];
/**
 * What other programs export, with the labels that we read: the event path (argo-events 1.9.11, pkg/metrics/metrics.go), each
 * program in Go by its client library, and Prometheus itself of each target.
 */
const OF_OTHERS: Readonly<Record<string, readonly string[]>> = {
  argo_events_events_sent_total: ["event_name"],
  argo_events_events_sent_failed_total: ["event_name"],
  argo_events_action_triggered_total: ["trigger_name"],
  argo_events_action_failed_total: ["trigger_name"],
  go_memstats_sys_bytes: [],
  up: [],
};

function registries(): Registry[] {
  const metrics = runnerMetrics("shop");
  metrics.requests.inc({ method: "GET", code: "200" });
  metrics.watchInterruptions.inc({ kind: "Widget" });
  const change = { verb: "created", apiVersion: "v1", kind: "ConfigMap", name: "a" } as const;
  metrics.reconciled(reconcileReport({ changes: [change] }));
  return [metrics.registry, keeperMetrics(), intakeMetrics(["shop-called"])];
}

/** The labels of each metric that runner, keeper and intake export: read from their output, not from their declarations. */
async function given(): Promise<Map<string, Set<string>>> {
  const labels = new Map<string, Set<string>>(
    Object.entries(OF_OTHERS).map(([metric, own]) => [metric, new Set(own)]),
  );
  for (const registry of registries()) {
    for (const line of (await registry.metrics()).split("\n")) {
      const [, metric, matchers = ""] = /^(\w+)(?:\{(.*)\})? /.exec(line) ?? [];
      if (metric === undefined) continue;
      const own = labels.get(metric) ?? new Set();
      for (const [, label = ""] of matchers.matchAll(/(\w+)="/g)) own.add(label);
      labels.set(metric, own);
    }
  }
  return labels;
}

async function assertGiven(expressions: readonly string[]): Promise<void> {
  const known = await given();
  for (const expr of expressions) {
    const uses = metricsIn(expr);
    assert.ok(uses.length > 0, expr);
    for (const { metric, labels } of uses) {
      const own = known.get(metric);
      assert.ok(own, `no program exports ${metric}, in: ${expr}`);
      const unknown = labels.filter((label) => !own.has(label) && !OF_TARGETS.includes(label));
      assert.deepEqual(unknown, [], `${metric} has no such label, in: ${expr}`);
    }
  }
}

const ALL = { podMonitor: true, alertRules: true, dashboard: true };
const alerts = () => alertsOf(platformOptions({ monitoring: ALL }));
const queries = dashboard.panels.flatMap(({ targets = [] }) => targets);

describe("the monitoring", function () {
  this.timeout(120_000);

  it("asks in its alerts only for metrics and labels that a program exports", async () => {
    await assertGiven(alerts().map(({ expr }) => expr));
  });

  it("asks in its dashboard only for metrics and labels that a program exports", async () => {
    assert.ok(queries.length > 20);
    await assertGiven(queries.map(({ expr }) => expr));
  });

  it("shows every metric of runner, keeper and intake, except the parts of a histogram", async () => {
    const shown = new Set(queries.flatMap(({ expr }) => metricsIn(expr).map(({ metric }) => metric)));
    const hidden = [...(await given()).keys()].filter(
      (metric) => metric.startsWith("argosy_") && !/_(sum|count)$/.test(metric) && !shown.has(metric),
    );
    assert.deepEqual(hidden, []);
  });

  it("names in the legend and in the words of an alert only labels that its expression leaves", () => {
    for (const { expr, legendFormat } of queries) assertLeft(expr, legendFormat.matchAll(/\{\{(\w+)\}\}/g));
    for (const { expr, annotations } of alerts())
      assertLeft(
        expr,
        Object.values(annotations)
          .join()
          .matchAll(/\$labels\.(\w+)/g),
      );
  });

  it("finds by its remedy what the log of an intake says of an event that waits", async () => {
    const { annotations } = alerts().find(({ alert }) => alert === "ArgosyEventsPostponed") ?? {};
    const [, words = "?"] = /grep '([^']+)'/.exec(annotations?.remedy ?? "") ?? [];
    const notices: string[] = [];
    const unused = async () => assert.fail("no event is known");
    const intake = new Intake({
      file: { installation: "argosy", events: [] },
      client: { create: unused, get: unused, now: Date.now },
      instance: "pod",
      onNotice: (notice) => notices.push(notice),
    });
    assert.equal(await intake.take("shop-called", {}), "postponed");
    assert.ok(notices[0]?.includes(words), notices[0]);
  });

  it("alerts only about our own controllers", () => {
    const without = alertsOf(platformOptions({ argoEvents: "adopt", argoWorkflows: "adopt" }));
    const name = ({ alert }: Alert) => alert;
    assert.deepEqual(
      alerts()
        .map(name)
        .filter((each) => !without.map(name).includes(each)),
      ["ArgosyControllerDown"],
    );
  });

  it("asks the data source and the variables that it has", () => {
    const variables = ["__rate_interval", "__all", ...dashboard.templating.list.map(({ name }) => name)];
    const used = [...JSON.stringify(dashboard).matchAll(/\$\{?(\w+)/g)].map(([, name = ""]) => name);
    assertNone(used, (name) => !variables.includes(name));
    assert.deepEqual(new Set(variables), new Set(used));
    const sources = [...JSON.stringify(dashboard).matchAll(/"datasource":(\{[^}]*\}[^}]*\})/g)];
    assert.ok(sources.length > queries.length);
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana's
    for (const [, source] of sources) assert.equal(source, '{"type":"prometheus","uid":"${datasource}"}');
  });

  it("shows the operators' namespace first, and changes nothing else of its dashboard", () => {
    const options = platformOptions({ namespace: "ops", monitoring: { dashboard: true } });
    const configMap = buildMonitoring(options)["dashboard"];
    assert.ok(configMap);
    const { "argosy.json": text = "" } = configMap["data"] as Record<string, string>;
    const shown = JSON.parse(text);
    const [, namespace] = shown.templating.list;
    assert.deepEqual(namespace.current, { text: "ops", value: "ops" });
    namespace.current = { text: "argosy", value: "argosy" };
    assert.deepEqual(shown, dashboard);
  });

  it("is made as far as it is asked for, with the labels that it is to be found by", () => {
    assert.deepEqual(buildMonitoring(platformOptions()), {});
    for (const option of ["podMonitor", "alertRules", "dashboard"] as const) {
      assert.equal(
        Object.keys(buildMonitoring(platformOptions({ monitoring: { [option]: true } }))).length,
        1,
      );
    }
    const labels = { release: "prometheus" };
    const dashboardLabels = { grafana: "yes" };
    const all = Object.values(
      buildMonitoring(platformOptions({ monitoring: { ...ALL, labels, dashboardLabels } })),
    );
    const found = all.map(({ kind, metadata }) => [
      kind,
      metadata.labels?.["release"] ?? metadata.labels?.["grafana"],
    ]);
    assert.deepEqual(found, [
      ["PodMonitor", "prometheus"],
      ["PrometheusRule", "prometheus"],
      ["ConfigMap", "yes"],
    ]);
    const [dashboard] = Object.values(buildMonitoring(platformOptions({ monitoring: { dashboard: true } })));
    assert.equal(dashboard?.metadata.labels?.["grafana_dashboard"], "1");
  });

  it("scrapes every program of ours that has a port for metrics, and nothing that has none", async () => {
    const sample = sampleProgram([...EVERY_FORM, { name: "called", on: webhookFor("Called") }]);
    const { manifests } = await run(operatorsProgram(sample, { outsideEvents: { storage: "1Gi" } }));
    const [monitor] = Object.values(buildMonitoring(platformOptions({ monitoring: { podMonitor: true } })));
    assert.ok(monitor);
    const { selector } = monitor["spec"] as {
      selector: { matchExpressions: { values: readonly string[] }[] };
    };
    const asked = selector.matchExpressions[0]?.values ?? [];
    const deployed = manifests.filter(({ kind }) => kind === "Deployment").filter(hasMetrics);
    // Argo gives the pods of these its own port of that name (argo-events, pkg/reconciler).
    const ofArgo = ["event-bus", "event-source", "sensor"];
    const components = deployed.map((each) => labelsOf(each)["app.kubernetes.io/component"] ?? "");
    assert.deepEqual(new Set([...components, ...ofArgo]), new Set(asked));
    for (const each of deployed) assert.equal(labelsOf(each)["app.kubernetes.io/managed-by"], "argosy");
  });

  it("is refused, before anything is registered, if the Prometheus Operator's kinds do not exist", async () => {
    const crds = {
      "podmonitors.monitoring.coreos.com": found(),
      "prometheusrules.monitoring.coreos.com": "absent",
    } as const;
    const problemsOf = async (monitoring: MonitoringOptions, cluster: Parameters<typeof fakeLook>[0]) =>
      (
        await checkPlatform(fakeLook(cluster), {
          ...platformOptions({ monitoring }),
          ...SHOP,
          namespaces: [],
          needed: [],
          coming: [],
        })
      ).problems;
    assert.deepEqual(await problemsOf(ALL, { crds }), [
      "monitoring asks for alertRules, but the cluster has no PrometheusRule (no prometheusrules.monitoring.coreos.com). Install the Prometheus Operator first, or leave alertRules out. If this program installs it, name it in the option dependsOn of this component.",
    ]);
    assert.deepEqual(await problemsOf({ podMonitor: true, dashboard: true }, { crds }), []);
    assert.deepEqual(await problemsOf(ALL, {}), [], "not to be seen is no reason to refuse");
  });

  it("comes with the stack, in the operators' namespace, by one key of the configuration", async () => {
    const { manifests } = await runStack("dev", { settings: { monitoring: JSON.stringify(ALL) } });
    const made = manifests.filter(
      ({ metadata }) => metadata.labels?.["app.kubernetes.io/component"] === "monitoring",
    );
    assert.deepEqual(made.map(({ kind, metadata }) => `${kind} ${metadata.namespace}`).sort(), [
      "ConfigMap argosy",
      "PodMonitor argosy",
      "PrometheusRule argosy",
    ]);
  });
});

/** Labels that are named in a text must be among those that the expression groups by, or are not grouped away. */
function assertLeft(expr: string, named: Iterable<RegExpMatchArray>): void {
  for (const [, label = ""] of named) {
    const isGrouped = /\bby \(/.test(expr);
    const clauses = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, labels = ""]) => labels.split(", "));
    const set = [...expr.matchAll(/label_replace\([^"]*(?:"[^"]*"[^"]*)*?, "(\w+)"/g)].map(([, to]) => to);
    assert.ok(
      !isGrouped || clauses.includes(label) || set.includes(label),
      `${label} is not left by: ${expr}`,
    );
  }
}

function labelsOf({ spec }: Manifest): Record<string, string> {
  return (spec as { template: { metadata: { labels: Record<string, string> } } }).template.metadata.labels;
}

function hasMetrics({ spec }: Manifest): boolean {
  return JSON.stringify(spec).includes('"name":"metrics"');
}
