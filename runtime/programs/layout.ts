/**
 * The paths of a pod of an operator, which the manifests mount and the engine reads. In both forms the pod has two containers:
 * "runner", the engine, and "handler", the author's program in the author's image.
 */
export const POD_LAYOUT = {
  /**
   * The engine's files, from a ConfigMap: engine.js for the runner, handler.sh and the loops around functions for the
   * handler. In both containers.
   */
  engine: "/argosy/engine",
  /** operator.json: the operator as the engine needs it. Runner only. */
  definition: "/argosy/definition",
  /** The author's files; the handler's working directory. Handler only. */
  handler: "/argosy/handler",
  /** An emptyDir for the named pipes between the two. In both containers. */
  pipes: "/argosy/pipes",
  /** An emptyDir with a static busybox, which another container puts there. It exists only if the image may have no shell. */
  handlerShell: "/argosy/handler-shell",
  /** An emptyDir in which the runner puts the handler's own token, if the operator declares `rules`. Runner only. */
  handlerToken: "/argosy/handler-token",
  /** The token that a Sensor must know, from a Secret. Intake only. */
  intakeToken: "/argosy/intake-token",
  /** Where Kubernetes' clients look for a token. */
  serviceAccount: "/var/run/secrets/kubernetes.io/serviceaccount",
} as const;

/**
 * The environment variable of a handler with `rules` that names the folder of its token: `serviceAccount` of {@link POD_LAYOUT}
 * in a pod, and another folder on an author's machine.
 */
export const HANDLER_ACCOUNT_VARIABLE = "ARGOSY_SERVICE_ACCOUNT";

/** Ports of a resident runner, and of an intake. */
export const RUNNER_PORTS = {
  /** POST /hints, or in an intake POST /events. */
  hints: 8080,
  /** GET /livez, /readyz, /metrics. */
  metrics: 9090,
} as const;

/** The first argument of engine.js: the command. */
export type EngineCommand =
  /** Reconcile for ever, or begin the runs that do so. */
  | "resident"
  /** Reconcile the one object that the Workflow names, and end. */
  | "run"
  /** Keep the event path working, for ever. */
  | "keep"
  /** Create custom resources from events from outside, for ever. */
  | "intake";

/** Environment variables that the manifests give to the engine. */
export const RUNNER_ENVIRONMENT = {
  /** The pod's namespace. */
  namespace: "ARGOSY_NAMESPACE",
  /** The pod's name. */
  pod: "ARGOSY_POD",
  /** The pod's address, by which a standby reaches the leader. */
  address: "ARGOSY_POD_ADDRESS",
  /** "resident", with `ask: changed` or `rollout`: the hash of the pod's template, which each roll-out and each restart by hand changes. */
  template: "ARGOSY_POD_TEMPLATE",
  /** The Workflow controller's instance id. "" for none. */
  instanceId: "ARGOSY_INSTANCE_ID",
  /** "resident": how long the Workflow of a run that succeeded is kept, in seconds. */
  runsKept: "ARGOSY_RUNS_KEPT_SECONDS",
  /** "resident": the same for a run that failed. */
  failedRunsKept: "ARGOSY_FAILED_RUNS_KEPT_SECONDS",
  /** "resident": "true" if the Workflow controller has an archive. Otherwise not set. */
  archive: "ARGOSY_ARCHIVE",
  /** "resident": the halves of Argo that the platform does not have, joined by commas. Not set if it has both. */
  without: "ARGOSY_WITHOUT",
  /** "resident" and "run": the address of a collector for traces. Not set if there are none. */
  tracesEndpoint: "ARGOSY_TRACES_ENDPOINT",
  /** The same: headers for the collector, from a Secret, as OTEL_EXPORTER_OTLP_HEADERS has them. */
  tracesHeaders: "ARGOSY_TRACES_HEADERS",
  /** The same: with "20", one run in 20 is traced. Not set if every run is. */
  tracesOneIn: "ARGOSY_TRACES_ONE_IN",
  /** "run": the Workflow that this pod belongs to. */
  workflow: "ARGOSY_WORKFLOW",
  /**
   * "resident", if runs have pods of their own: how many have a pod at once. The definition of these does not have it: see
   * `definitionFileContent`.
   */
  concurrency: "ARGOSY_CONCURRENCY",
  /** The same: the time between two resyncs, in seconds. */
  resyncSeconds: "ARGOSY_RESYNC_SECONDS",
  /** "keep": the event path's name. */
  eventPath: "ARGOSY_EVENT_PATH",
} as const;

/** The halves of Argo. Each of them may be missing. */
export const ARGO_HALVES = ["events", "workflows"] as const;
export type ArgoHalf = (typeof ARGO_HALVES)[number];

/** The file into which a run that only tried the handler writes its answer, as JSON. It is an output of the run's template. */
export const ANSWER_FILE = "/tmp/answer.json";

/** The file into which a run in a pod writes how long its steps took, as text. It is an output of the run's template. */
export const TIMINGS_FILE = "/tmp/timings.txt";

/**
 * The file by which Argo's container `wait` finds out that the handler's container has ended (argo-workflows,
 * workflow/executor/emissary/emissary.go). Argo's executor in that container writes it.
 */
export const HANDLER_EXIT_CODE = "/var/run/argo/ctr/handler/exitcode";

/** The file into which a container writes why it ends: the default of `terminationMessagePath`. The kubelet makes the file. */
export const TERMINATION_LOG = "/dev/termination-log";
