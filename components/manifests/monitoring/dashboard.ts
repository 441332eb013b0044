import type { Json, JsonObject, Manifest } from "../../../runtime/program";
import { labelsOf } from "../metadata";
import type { PlatformOptions } from "../platform/options";
import { DASHBOARD_ROWS, type DashboardPanel, type DashboardRow } from "./dashboardRows";

/** What Grafana's sidecar looks for, unless it is told otherwise (grafana helm chart, sidecar.dashboards.label). */
const SIDECAR_LABELS = { grafana_dashboard: "1" };
/** The width of a dashboard, in Grafana's units. */
const WIDTH = 24;
const PANELS_PER_LINE = 3;
const PANEL_HEIGHT = 7;
// biome-ignore lint/suspicious/noTemplateCurlyInString: a variable of Grafana's
const DATASOURCE = { type: "prometheus", uid: "${datasource}" };

/** The dashboard, in a ConfigMap by which Grafana's sidecar finds it. */
export function buildDashboard({ namespace, monitoring }: PlatformOptions): Manifest {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "argosy-dashboard",
      namespace,
      labels: { ...labelsOf("argosy", "monitoring"), ...(monitoring?.dashboardLabels ?? SIDECAR_LABELS) },
    },
    data: { "argosy.json": `${JSON.stringify(dashboardOf(namespace), undefined, 1)}\n` },
  };
}

/**
 * A dashboard in Grafana's own form
 * (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/).
 * @param namespace the one that is shown first
 */
export function dashboardOf(namespace: string): JsonObject {
  return {
    uid: "argosy",
    title: "Argosy",
    tags: ["argosy"],
    // That of Grafana 11: later ones bring it up to theirs.
    schemaVersion: 39,
    editable: true,
    refresh: "30s",
    time: { from: "now-1h", to: "now" },
    templating: { list: variables(namespace) },
    panels: layOut(DASHBOARD_ROWS),
  };
}

function variables(namespace: string): Json[] {
  const ofLabels = (name: string, label: string, query: string) => ({
    name,
    label,
    type: "query",
    datasource: DATASOURCE,
    query,
    // When the dashboard is loaded, and when the time range changes.
    refresh: 2,
    sort: 1,
  });
  return [
    { name: "datasource", label: "Data source", type: "datasource", query: "prometheus" },
    {
      ...ofLabels("namespace", "Namespace", "label_values(argosy_leader, namespace)"),
      current: { text: namespace, value: namespace },
    },
    {
      ...ofLabels("operator", "Operator", 'label_values(argosy_leader{namespace="$namespace"}, operator)'),
      multi: true,
      includeAll: true,
      current: { text: ["All"], value: ["$__all"] },
    },
  ];
}

/** Rows one below the other, the panels of each in lines. */
function layOut(rows: readonly DashboardRow[]): Json[] {
  const panels: JsonObject[] = [];
  let y = 0;
  for (const { title, panels: own } of rows) {
    panels.push({
      id: panels.length + 1,
      type: "row",
      title,
      collapsed: false,
      panels: [],
      gridPos: { x: 0, y, w: WIDTH, h: 1 },
    });
    y += 1;
    for (const [index, panel] of own.entries()) {
      const line = Math.floor(index / PANELS_PER_LINE);
      // Those of the last line share its width.
      const inLine = Math.min(PANELS_PER_LINE, own.length - line * PANELS_PER_LINE);
      const w = WIDTH / inLine;
      const gridPos = { x: (index % PANELS_PER_LINE) * w, y: y + line * PANEL_HEIGHT, w, h: PANEL_HEIGHT };
      panels.push({ id: panels.length + 1, gridPos, ...timeSeries(panel) });
    }
    y += Math.ceil(own.length / PANELS_PER_LINE) * PANEL_HEIGHT;
  }
  return panels;
}

function timeSeries({ title, description, unit, queries }: DashboardPanel): JsonObject {
  return {
    type: "timeseries",
    title,
    description,
    datasource: DATASOURCE,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    options: { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } },
    targets: queries.map(({ expr, legend }, index) => ({
      refId: "ABCDEFGH"[index] ?? "",
      datasource: DATASOURCE,
      expr,
      legendFormat: legend,
    })),
  };
}
