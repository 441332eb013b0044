import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { BenchmarkError } from "../bench/benchmark";
import { argosyForms } from "../bench/inCluster/argosyForms";
import { barePodForm } from "../bench/inCluster/barePod";
import { runInCluster } from "../bench/inCluster/benchmark";
import {
  CONTROLLER_NAMESPACE,
  type Form,
  type FormName,
  formNames,
  OPERATOR_NAMESPACE,
} from "../bench/inCluster/form";
import { describeNodes } from "../bench/inCluster/nodes";
import { type PeerImages, peerForms } from "../bench/inCluster/peerForms";
import { formatInCluster, formatInClusterJson, type InClusterWork, workOf } from "../bench/inCluster/report";
import { runSoak } from "../bench/inCluster/soak";
import { formatSoak, formatSoakJson, soakFigures } from "../bench/inCluster/soakReport";
import { tutorialForm } from "../bench/inCluster/tutorial";
import { describeMachine } from "../bench/report";
import { operatorsArgs, platformArgs } from "../components/configuration/args";
import { readConfiguration } from "../components/configuration/readConfiguration";
import { connectionFromKubeconfig } from "../components/kubeconfig";
import { buildCustomResourceDefinition } from "../components/manifests/customResourceDefinition";
import { Operators } from "../components/operators";
import type { Operator } from "../runtime/definition/definition";
import type { Manifest } from "../runtime/kubernetes/objects";
import { memcachedOperator, positiveInteger, progress } from "./benchWork";
import { runCommand } from "./command";
import { CommandError } from "./commandError";
import { cacheDirectory } from "./controlPlane/cache";
import { manifestsOf } from "./render/manifests";
import { runProgram } from "./render/runProgram";
import { readStackConfiguration } from "./render/stackConfiguration";
import { PROJECT_FOLDER } from "./tools";

interface Options extends InClusterWork {
  readonly forms: readonly FormName[];
  readonly kopfImage?: string;
  readonly controllerRuntimeImage?: string;
  readonly runners: number;
  readonly soak?: number;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly json?: true;
}

const HELP = `
Forms: tutorial (the published Memcached tutorial: seven pods for each event), pod, resident (recording its runs),
resident-by-events (the same without the runner's own watch: the way over Argo alone), kopf, controller-runtime (as it is
out of the box, and raised), bare-pod (a pod without an operator, for scale).

The peers run from images that you build and that the cluster can have; without one its forms are left out. For kind:
  docker build --tag argosy-bench-kopf:dev bench/peers/kopf
  docker build --tag argosy-bench-controller-runtime:dev bench/peers/controller-runtime
  kind load docker-image argosy-bench-kopf:dev argosy-bench-controller-runtime:dev
  npm run bench -- --cluster --kopf-image argosy-bench-kopf:dev --controller-runtime-image argosy-bench-controller-runtime:dev

It needs the rights of an administrator, refuses a cluster that has Argo or Memcacheds, makes namespaces of its own and
removes all that it made. The driver's clock and the nodes' must agree for the stages.`;

/** `npm run bench -- --cluster`: the forms of an operator on a real cluster, one after another. */
export function main(args: readonly string[]): Promise<void> {
  const program = new Command("npm run bench -- --cluster")
    .description(
      "Gives Argosy, the tutorial it is after, Kopf and controller-runtime the same work on the cluster that the " +
        "kubeconfig names: latency, rate, working sets, API calls, and where the time goes.",
    )
    .addOption(new Option("--cluster").hideHelp())
    .addOption(
      new Option("--forms <names>", "only these, separated by commas")
        .argParser(formNameList)
        .default(formNames, "all"),
    )
    .option("--objects <n>", "Memcacheds created one by one", positiveInteger, 200)
    .option("--burst <n>", "Memcacheds created at once", positiveInteger, 1000)
    .option("--slow-objects <n>", "one by one, where each has a pod", positiveInteger, 20)
    .option("--slow-burst <n>", "at once, where each has a pod", positiveInteger, 30)
    .option("--tutorial-objects <n>", "both, of the tutorial", positiveInteger, 4)
    .option(
      "--rounds <n>",
      "rounds of all but the tutorial; the figures are their medians",
      positiveInteger,
      1,
    )
    .option("--runners <n>", "runners of the resident operator", positiveInteger, 1)
    .option("--soak <minutes>", "one change a second to the resident operator instead", positiveInteger)
    .option("--kopf-image <image>", "the image of bench/peers/kopf")
    .option("--controller-runtime-image <image>", "the image of bench/peers/controller-runtime")
    .option("--context <name>", "a context of the kubeconfig")
    .option("--kubeconfig <file>", "a kubeconfig")
    .option("--json", "print JSON instead of tables")
    .addHelpText("after", HELP);
  return runCommand<Options>(program, args, bench);
}

async function bench(options: Options, signal: AbortSignal): Promise<number> {
  const { json, forms: chosen, context, kubeconfig, runners } = options;
  const connection = await connectionFromKubeconfig(kubeconfig, context);
  const memcached = memcachedOperator();
  const images: PeerImages = {
    ...(options.kopfImage !== undefined && { kopf: options.kopfImage }),
    ...(options.controllerRuntimeImage !== undefined && {
      controllerRuntime: options.controllerRuntimeImage,
    }),
  };
  const all = await allForms(memcached, images, runners);
  const forms = chosen.flatMap((name) => all.filter((form) => form.name === name));
  const leftOut = chosen
    .filter((name) => !forms.some((form) => form.name === name))
    .map((name) => `${name}: no image is given (--${name === "kopf" ? "kopf" : "controller-runtime"}-image)`);
  const common = {
    connection,
    cache: join(cacheDirectory(), "bench", "in-cluster"),
    crd: buildCustomResourceDefinition(memcached),
    progress,
    signal,
  };
  const machines = [`driver: ${describeMachine()}`, ...(await describeNodes(connection))];
  const resident = all.find(({ name }) => name === "resident");
  try {
    if (options.soak !== undefined && resident) {
      const figures = soakFigures(await runSoak({ ...common, form: resident, minutes: options.soak }));
      process.stdout.write(`${json ? formatSoakJson(figures, machines) : formatSoak(figures, machines)}\n`);
      return 0;
    }
    for (const line of leftOut) progress(`left out: ${line}`);
    const outcome = await runInCluster({ ...common, forms, workOf: (form) => workOf(form, options) });
    const format = json ? formatInClusterJson : formatInCluster;
    process.stdout.write(`${format({ ...outcome, leftOut, machines })}\n`);
    return outcome.failures.length === 0 ? 0 : 1;
  } catch (error) {
    if (error instanceof BenchmarkError) throw new CommandError(error.message, 1, { cause: error });
    throw error;
  }
}

async function allForms(memcached: Operator, images: PeerImages, runners: number): Promise<Form[]> {
  const { manifests: resident, instanceId } = await rendered(
    { ...memcached, execution: "resident" },
    runners,
  );
  const { manifests: pod } = await rendered({ ...memcached, execution: "pod" }, runners);
  return [
    tutorialForm(resident, memcached, instanceId),
    ...argosyForms({ resident, pod }),
    ...peerForms(images),
    barePodForm(),
  ];
}

/** What `pulumi up` makes of one operator in the dev stack, in the benchmark's namespaces, without its CRD. */
async function rendered(
  operator: Operator,
  runners: number,
): Promise<{ manifests: Manifest[]; instanceId: string }> {
  const { project, stack, values } = readStackConfiguration(PROJECT_FOLDER, "dev");
  const own = {
    [`${project}:namespace`]: OPERATOR_NAMESPACE,
    [`${project}:controllerNamespace`]: CONTROLLER_NAMESPACE,
    [`${project}:runnerReplicas`]: String(runners),
  };
  const settings = readConfiguration(project, { ...values, ...own });
  const program = () =>
    new Operators("argosy", {
      ...operatorsArgs(settings),
      definitions: [operator],
      platform: platformArgs(settings),
    });
  const { resources } = await runProgram(program, { project, stack, values: {} });
  const { plural, group } = operator.customResource;
  const manifests = manifestsOf(resources).filter(({ metadata }) => metadata.name !== `${plural}.${group}`);
  return { manifests, instanceId: settings.instanceId };
}

function formNameList(text: string): FormName[] {
  const names = text.split(",");
  const isFormName = (name: string): name is FormName => (formNames as readonly string[]).includes(name);
  if (!names.every(isFormName)) throw new InvalidArgumentError(`The forms are ${formNames.join(", ")}.`);
  return names;
}
