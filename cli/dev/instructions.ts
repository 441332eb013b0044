import { shellWord } from "../common/shellWord";

/** What the commands of {@link instructions} name. */
export interface InstructionsOptions {
  /** The kubeconfig of the embedded control plane. Undefined for a user's own cluster. */
  readonly kubeconfig: string | undefined;
  /** The kubectl of the embedded control plane's version. */
  readonly kubectl: string;
  /** Files with objects to try. */
  readonly examples: readonly string[];
  /** The commands that send events. */
  readonly events: readonly string[];
  /** The address of the metrics. */
  readonly metricsUrl: string;
}

/** The commands to type in another terminal, while `argosy dev` runs. */
export function instructions({
  kubeconfig,
  kubectl,
  examples,
  events,
  metricsUrl,
}: InstructionsOptions): string[] {
  return [
    ...(kubeconfig === undefined
      ? []
      : [
          `export KUBECONFIG=${shellWord(kubeconfig)}`,
          // The shell reads the text of an alias once more, each time that the alias is used.
          `alias kubectl=${shellWord(shellWord(kubectl))}`,
        ]),
    ...examples.map((file) => `kubectl apply -f ${shellWord(file)}`),
    ...events,
    `curl ${shellWord(metricsUrl)}`,
  ];
}
