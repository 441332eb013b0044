import { z } from "zod";
import {
  OBJECT_UID_LABEL,
  OPERATOR_LABEL,
  OWNER_RANGE_LABEL,
  objectLabelsOf,
  RECONCILE_AT_ANNOTATION,
} from "../../runtime/base/names";
import { groupOf, type KubernetesObject, type Manifest, type ObjectMeta } from "../../runtime/base/objects";
import {
  ifRefused,
  isOver,
  type KubernetesClient,
  parameterOf,
  RUN_PARAMETERS,
  specOf,
  WORKFLOW_LABELS,
  WORKFLOW_TEMPLATES,
  WORKFLOWS,
} from "../../runtime/cli";
import { CommandError, EXIT_CODES, UsageError } from "../common/commandError";
import { command } from "../common/declaration";
import { checkNames } from "../common/objectName";
import { formatReference, OBJECT_REFERENCE, referenceTo } from "../common/objectReference";
import {
  flag,
  objectOptions,
  option,
  optionWithDefault,
  positiveInteger,
  type ValuesOf,
} from "../common/options";
import { indent, print, progress, safe, styleFor } from "../common/terminal";
import { until } from "../common/until";
import { formatRun } from "../inspect/formatRun";
import { kindInDev, replayInDev } from "../inspect/inDev";
import { installedOperators, kindsOf, tellLeftOut } from "../inspect/installed";
import { type InstalledOperator, type InstalledOperators, noneHandles } from "../inspect/readInstalled";
import { findRun, type KindOf, RUN, type Run, runOf } from "../inspect/runs";
import { unknownSchedule } from "../inspect/schedule";
import { withCluster } from "../inspect/session";
import { findTarget, readTarget, type Target } from "../inspect/target";

/** What is printed for KIND/NAME without `--due`. */
const REQUESTED = z.strictObject({
  object: OBJECT_REFERENCE,
  reconcileAt: z.string().describe("The value of the annotation argosy.dev/reconcile-at, as RFC 3339."),
});

const OPTIONS = [
  option(
    "--due <schedule>",
    "for KIND/NAME: run this schedule of its operator now, in addition to its own times",
  ),
  flag("--no-wait", "do not wait until the run has ended"),
  optionWithDefault("--timeout <seconds>", "how long to wait, in seconds", 120, positiveInteger),
  ...objectOptions(z.union([RUN, REQUESTED])),
];

type Options = ValuesOf<typeof OPTIONS>;

/**
 * `argosy replay RUN`: submits a recorded run again, so that its object is reconciled in its present state. For KIND/NAME it
 * requests a reconcile by an annotation of the object, which does not need Argo Workflows.
 *
 * @returns the exit code: 1 if the run fails
 * @throws DeadlineError if it does not end in time
 */
export default command({
  description:
    "Submits a recorded run again and waits until it has ended. The object is reconciled in its present state. For " +
    "KIND/NAME it requests a reconcile of the object, which does not need Argo Workflows. With --due it runs a schedule " +
    "for the object, in a cluster with Argo Workflows or in argosy dev. The exit code is 1 if the run fails.",
  arguments: [["<of>", "a run, by its name in argosy runs, or KIND/NAME"]],
  options: OPTIONS,
  async run(of, options) {
    checkNames([of]);
    return withCluster(options, async (client) => {
      if (of.includes("/")) {
        const target = await findTarget(client, of, options);
        return options.due === undefined
          ? reconcile(client, target, options)
          : runSchedule(client, target, options.due, options);
      }
      if (options.due !== undefined)
        throw new UsageError(`--due runs a schedule for an object: write KIND/NAME instead of ${of}.`);
      const installed = await installedOperators(client);
      const run = await findRun(client, of, installed);
      const kindOf = kindsOf(installed);
      const kind = kindInDev(run);
      // No Workflow controller has it.
      if (kind) return reconcile(client, await findObject(client, run, kind, installed), options);
      tellLeftOut(installed);
      return follow(client, await submitAgain(client, run), kindOf, options);
    });
  },
});

/** The object of a run of `argosy dev`. */
function findObject(
  client: KubernetesClient,
  run: KubernetesObject,
  { apiVersion, kind }: { readonly apiVersion: string; readonly kind: string },
  installed: InstalledOperators,
): Promise<Target> {
  const [name, namespace] = [RUN_PARAMETERS.name, RUN_PARAMETERS.namespace].map((parameter) =>
    parameterOf(run, parameter),
  );
  const group = groupOf(apiVersion);
  const text = `${group === "" ? kind : `${kind}.${group}`}/${name}`;
  return findTarget(client, text, namespace ? { namespace } : {}, installed);
}

/** Waits until a submitted run has ended, unless the user does not want that, and shows it. */
async function follow(
  client: KubernetesClient,
  submitted: KubernetesObject,
  kindOf: KindOf,
  options: Options,
): Promise<number> {
  if (!options.wait) return tell(runOf(submitted, kindOf), options);
  progress(`submitted ${submitted.metadata.name}, which ends when its operator has finished`);
  return tell(runOf(await ended(client, submitted, options.timeout), kindOf), options);
}

/**
 * Runs a schedule for an object: in `argosy dev`, or else as a Workflow.
 * @throws UsageError if the operator has no such schedule; CommandError if nothing can run it
 */
async function runSchedule(
  client: KubernetesClient,
  target: Target,
  due: string,
  options: Options,
): Promise<number> {
  const { metadata } = await readTarget(client, target);
  const { resource, name, operators } = target;
  const { kind, apiVersion } = resource;
  const inDev = await replayInDev(
    client.server,
    { group: groupOf(apiVersion), kind, ...name, due },
    options.timeout * 1_000,
  );
  if (inDev)
    return tell(
      runOf(inDev, () => resource),
      options,
    );
  const hasIt = ({ whole }: InstalledOperator) => Object.hasOwn(whole?.schedules ?? {}, due);
  const operator = operators.find(hasIt) ?? operators[0];
  if (!operator) throw new CommandError(`${noneHandles(kind, target)} Start argosy dev for this cluster.`);
  if (operator.whole && !hasIt(operator)) throw new UsageError(unknownSchedule(operator.whole, due));
  const template = await client
    .get(WORKFLOW_TEMPLATES, { namespace: operator.home, name: operator.name })
    .catch(ifRefused(404, undefined));
  if (!template)
    throw new CommandError(
      `The schedule ${due} can only run at its own times: ${operator.name} was deployed without Argo Workflows, which would run ` +
        "it now. Run it in argosy dev.",
    );
  const parameters = {
    [RUN_PARAMETERS.namespace]: name.namespace ?? "",
    [RUN_PARAMETERS.name]: name.name,
    [RUN_PARAMETERS.uid]: metadata.uid ?? "",
    [RUN_PARAMETERS.schedule]: due,
  };
  const labels = { ...template.metadata.labels, ...objectLabelsOf(metadata.uid ?? "") };
  const place = { name: `${operator.name}-${due}-`, namespace: operator.home, labels };
  const submitted = await submit(client, place, { name: operator.name }, parameters);
  return follow(client, submitted, () => resource, options);
}

async function reconcile(client: KubernetesClient, target: Target, options: Options): Promise<number> {
  await readTarget(client, target);
  const at = new Date().toISOString();
  await client.mergePatch(target.resource, target.name, {
    metadata: { annotations: { [RECONCILE_AT_ANNOTATION]: at } },
  });
  const object = referenceTo(target.resource, target.name);
  if (options.json) options.json({ object, reconcileAt: at });
  else print(`${formatReference(object)}: its operator will reconcile it at once`);
  return EXIT_CODES.fine;
}

/**
 * Submits the same run again, as `argo resubmit` does: with the template and the parameters, but without the uid, because the
 * object may have been replaced since that run.
 */
async function submitAgain(client: KubernetesClient, run: KubernetesObject): Promise<KubernetesObject> {
  const { workflowTemplateRef } = specOf(run);
  const names = Object.values(RUN_PARAMETERS).filter((name) => name !== RUN_PARAMETERS.uid);
  const parameters = Object.fromEntries(names.map((name) => [name, parameterOf(run, name)]));
  const name = `${workflowTemplateRef?.name ?? "run"}-again-`;
  return submit(client, { ...run.metadata, name }, workflowTemplateRef, parameters);
}

/** Submits a run of a template. @param metadata its labels, its namespace, and the beginning of its name */
async function submit(
  client: KubernetesClient,
  { name: generateName, namespace, labels = {} }: Pick<ObjectMeta, "name" | "namespace" | "labels">,
  workflowTemplateRef: object | undefined,
  parameters: Readonly<Record<string, string>>,
): Promise<KubernetesObject> {
  const kept = [OPERATOR_LABEL, OBJECT_UID_LABEL, OWNER_RANGE_LABEL, WORKFLOW_LABELS.instanceId];
  const given = Object.entries(parameters).filter(([, value]) => value !== "");
  const manifest = {
    apiVersion: WORKFLOWS.apiVersion,
    kind: WORKFLOWS.kind,
    metadata: {
      generateName,
      namespace,
      labels: Object.fromEntries(Object.entries(labels).filter(([label]) => kept.includes(label))),
    },
    spec: {
      workflowTemplateRef,
      arguments: { parameters: given.map(([name, value]) => ({ name, value })) },
    },
  };
  return client.create(WORKFLOWS, manifest as unknown as Manifest);
}

async function ended(
  client: KubernetesClient,
  { metadata }: KubernetesObject,
  seconds: number,
): Promise<KubernetesObject> {
  return until(
    async () => {
      const now = await client.get(WORKFLOWS, metadata);
      if (!now) throw new CommandError(`The run ${metadata.name} was deleted before its end.`);
      return isOver(now) ? now : undefined;
    },
    {
      what: `the end of the run ${metadata.name}; argosy doctor checks the Workflow controller and the runner`,
      deadlineMs: seconds * 1_000,
      pollMs: 500,
    },
  );
}

function tell(run: Run, { json, wait }: Options): number {
  if (json) json(run);
  else print(formatRun(run, new Date(), styleFor(process.stdout)));
  if (!json && run.log) print(indent(safe(run.log)));
  return !wait || run.phase === "Succeeded" ? EXIT_CODES.fine : EXIT_CODES.failed;
}
