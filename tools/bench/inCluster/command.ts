import { join } from "node:path";
import { Command, InvalidArgumentError, Option } from "commander";
import { runCommand } from "../../../cli/common/command";
import { CommandError } from "../../../cli/common/commandError";
import { positiveInteger } from "../../../cli/common/options";
import { progress } from "../../../cli/common/terminal";
import { cacheDirectory } from "../../../cli/controlPlane/cache";
import { memcachedOperator } from "../../../cli/scene/memcachedOperator";
import { buildCustomResourceDefinition } from "../../../components/manifests/customResourceDefinition";
import { connectionFromKubeconfig } from "../../../preflight/kubeconfig";
import { lookInCluster } from "../../../preflight/lookInCluster";
import { BenchmarkError } from "../benchmark";
import { describeMachine } from "../report";
import { allForms } from "./allForms";
import { runInCluster } from "./benchmark";
import { type Form, type FormName, formNames } from "./form";
import { describeNodes } from "./nodes";
import type { PeerImages } from "./peerForms";
import { formatInCluster, formatInClusterJson, type InClusterWork, workOf } from "./report";
import { runSoak } from "./soak";
import { formatSoak, formatSoakJson, soakFigures } from "./soakReport";
import type { FormOptions } from "./withForm";

interface Options extends InClusterWork {
  readonly forms: readonly FormName[];
  readonly kopfImage?: string;
  readonly controllerRuntimeImage?: string;
  readonly runners: number;
  readonly soak?: number;
  readonly soakRate: number;
  readonly runsKept?: number;
  readonly context?: string;
  readonly kubeconfig?: string;
  readonly json?: true;
}

const HELP = `
Forms: tutorial (the published Memcached tutorial: seven pods for each event), pod, initless-pod (the same without an init
container of Argo's: the cluster needs image volumes), resident (recording its runs), kopf, controller-runtime (as it is out of
the box, and raised), bare-pod (a pod without an operator, for scale).

The peers run from images that you build and that the cluster can have; without one its forms are left out. For kind:
  docker build --tag argosy-bench-kopf:dev tools/bench/peers/kopf
  docker build --tag argosy-bench-controller-runtime:dev tools/bench/peers/controller-runtime
  kind load docker-image argosy-bench-kopf:dev argosy-bench-controller-runtime:dev
  npm run bench -- --cluster --kopf-image argosy-bench-kopf:dev --controller-runtime-image argosy-bench-controller-runtime:dev

With its defaults it takes about half an hour. It needs the rights of an administrator, refuses a cluster that has Argo or Memcacheds, makes namespaces of its own and
removes all that it made. The driver's clock and the nodes' must agree for the stages.`;

/** `npm run bench -- --cluster`: measures the forms of an operator on a real cluster, one after another. */
export function main(args: readonly string[]): Promise<number> {
  const command = new Command("npm run bench -- --cluster")
    .description(
      "Gives Argosy, the tutorial that inspired it, Kopf and controller-runtime the same work on the cluster that the " +
        "kubeconfig names: latency, rate, working sets, API calls, and where the time goes.",
    )
    .addOption(new Option("--cluster").hideHelp())
    .addOption(
      new Option("--forms <names>", "only these forms, separated by commas")
        .argParser(formNameList)
        .default(formNames, "all"),
    )
    .option("--objects <n>", "Memcacheds created one by one", positiveInteger, 200)
    .option("--burst <n>", "Memcacheds created at the same time", positiveInteger, 1000)
    .option(
      "--slow-objects <n>",
      "Memcacheds one by one, for forms in which each has a pod",
      positiveInteger,
      20,
    )
    .option(
      "--slow-burst <n>",
      "Memcacheds at the same time, for forms in which each has a pod",
      positiveInteger,
      30,
    )
    .option("--tutorial-objects <n>", "both numbers for the tutorial", positiveInteger, 2)
    .option(
      "--rounds <n>",
      "rounds of all forms except the tutorial; the figures are their medians",
      positiveInteger,
      1,
    )
    .option("--runners <n>", "runners of the resident operator", positiveInteger, 1)
    .option(
      "--soak <minutes>",
      "instead, give the resident operator an even load for this time",
      positiveInteger,
    )
    .option("--soak-rate <n>", "Memcacheds that --soak creates each second", positiveInteger, 1)
    .option(
      "--runs-kept <seconds>",
      "how long recorded runs are kept (default: as in a stack)",
      positiveInteger,
    )
    .option("--kopf-image <image>", "the image of tools/bench/peers/kopf")
    .option("--controller-runtime-image <image>", "the image of tools/bench/peers/controller-runtime")
    .option("--context <name>", "a context of the kubeconfig")
    .option("--kubeconfig <file>", "a kubeconfig")
    .option("--json", "print JSON instead of tables")
    .addHelpText("after", HELP);
  return runCommand({ command, runUntil: (signal) => bench(command.opts(), signal) }, args);
}

async function bench(options: Options, signal: AbortSignal): Promise<number> {
  const connection = await connectionFromKubeconfig(options.kubeconfig, options.context);
  const memcached = memcachedOperator();
  const ground: FormOptions = {
    connection,
    cache: join(cacheDirectory(), "bench", "in-cluster"),
    crd: buildCustomResourceDefinition(memcached),
    progress,
    signal,
  };
  const machines = [`driver: ${describeMachine()}`, ...(await describeNodes(connection))];
  const forms = await allForms(memcached, imagesOf(options), options);
  try {
    return options.soak === undefined
      ? await compare(forms, options, ground, machines)
      : await soak(forms, { ...options, soak: options.soak }, ground, machines);
  } catch (error) {
    if (error instanceof BenchmarkError) throw new CommandError(error.message, { cause: error });
    throw error;
  }
}

async function compare(
  all: readonly Form[],
  options: Options,
  ground: FormOptions,
  machines: readonly string[],
): Promise<number> {
  const known = options.forms.flatMap((name) => all.filter((form) => form.name === name));
  const lacksVolumes = known.some(needsImageVolumes) && !(await hasImageVolumes(options));
  const forms = known.filter((form) => !(lacksVolumes && needsImageVolumes(form)));
  const leftOut = options.forms
    .filter((name) => !forms.some((form) => form.name === name))
    .map((name) => `${name}: ${whyLeftOut(name)}`);
  for (const line of leftOut) progress(`left out: ${line}`);
  const outcome = await runInCluster({ ...ground, forms, workOf: (form) => workOf(form, options) });
  const format = options.json ? formatInClusterJson : formatInCluster;
  process.stdout.write(`${format({ ...outcome, leftOut, machines })}\n`);
  return outcome.failures.length === 0 ? 0 : 1;
}

/** The API server of a cluster without image volumes would leave Argo's program out of the pods. */
function needsImageVolumes({ name }: Pick<Form, "name">): boolean {
  return name === "initless-pod";
}

/** What is missing for a form. */
function whyLeftOut(name: FormName): string {
  if (needsImageVolumes({ name })) return "the cluster has no image volumes";
  return `no image is given (--${name === "kopf" ? "kopf" : "controller-runtime"}-image)`;
}

async function hasImageVolumes({ kubeconfig, context }: Options): Promise<boolean> {
  return (await lookInCluster({ kubeconfig, context }, (look) => look.keepsImageVolumes())) ?? false;
}

async function soak(
  forms: readonly Form[],
  { soak: minutes, soakRate: perSecond, json }: Options & { readonly soak: number },
  ground: FormOptions,
  machines: readonly string[],
): Promise<number> {
  const form = forms.find(({ name }) => name === "resident");
  if (!form) throw new RangeError("there is no resident form");
  const figures = soakFigures(await runSoak({ ...ground, form, minutes, perSecond }));
  const format = json ? formatSoakJson : formatSoak;
  process.stdout.write(`${format(figures, machines)}\n`);
  return 0;
}

function imagesOf({ kopfImage, controllerRuntimeImage }: Options): PeerImages {
  return {
    ...(kopfImage !== undefined && { kopf: kopfImage }),
    ...(controllerRuntimeImage !== undefined && { controllerRuntime: controllerRuntimeImage }),
  };
}

function formNameList(text: string): FormName[] {
  const names = text.split(",");
  const isFormName = (name: string): name is FormName => (formNames as readonly string[]).includes(name);
  if (!names.every(isFormName)) throw new InvalidArgumentError(`The forms are ${formNames.join(", ")}.`);
  return names;
}
