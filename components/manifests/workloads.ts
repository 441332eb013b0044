import { DOMAIN, FUNCTION_IMAGES } from "../../runtime/program";
import { IMAGES, type ImageName, type ImageOptions } from "./images";
import { POD_PARTS, type PodOptions, type PodsOptions } from "./pods";
import { type ContainerName, RESOURCES, type ResourceOptions, resourceProblems } from "./resources";
import { TRANSFORM_PARTS, type TransformOptions } from "./transform";

/** The choices of a program for everything that Argosy creates: pods, images, resources, and changes of single manifests. */
export interface WorkloadOptions extends PodsOptions, ImageOptions, ResourceOptions, TransformOptions {
  readonly placement: PodsOptions["placement"];
}

/** Every known key of the options that are given by name. */
export const WORKLOAD_KEYS = {
  images: [...Object.keys(IMAGES), ...Object.keys(FUNCTION_IMAGES)] as readonly ImageName[],
  resources: Object.keys(RESOURCES) as readonly ContainerName[],
  pods: [...POD_PARTS, "operators"] as const,
  transform: TRANSFORM_PARTS,
} as const;

/** A mistake in the options that a user has given. */
export interface OptionProblem {
  /** The option: "resources.sensor.requests.memory". */
  readonly key: string;
  /** What is wrong, to follow the key: `is "a.b", not a DNS label`. */
  readonly complaint: string;
  /** How to put it right, in a sentence. */
  readonly remedy: string;
}

/** A reference with registry, path, tag and digest, or a tag or a digest alone. */
const REFERENCE =
  /^([a-zA-Z0-9][-a-zA-Z0-9._]*(:[0-9]+)?(\/[a-z0-9][-a-z0-9._]*)*)?(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@sha256:[0-9a-f]{64})?$/;

/** Labels and annotations that belong to Argosy, or by which Argosy's objects are found. */
const OWN_KEY = new RegExp(
  `^(app\\.kubernetes\\.io/(name|component|managed-by)|([^/]+\\.)?${DOMAIN.replace(/\./g, "\\.")}/.*)$`,
);

/**
 * The problems of options whose types are right, in the order of their keys.
 * @param operators the names of the operators, if they are known
 */
export function checkWorkloadOptions(
  options: WorkloadOptions,
  operators?: readonly string[],
): readonly OptionProblem[] {
  return [
    ...unknownKeys(options, operators),
    ...imageProblems(options),
    ...problemsOfResources(options),
    ...podProblems(options),
  ];
}

function unknownKeys(options: WorkloadOptions, operators: readonly string[] | undefined): OptionProblem[] {
  return [
    ...Object.entries(WORKLOAD_KEYS).flatMap(([key, known]) =>
      unknownIn(key, options[key as keyof typeof WORKLOAD_KEYS], known),
    ),
    ...(operators ? unknownIn("pods.operators", options.pods?.operators, operators) : []),
  ];
}

function unknownIn(key: string, option: object | undefined, known: readonly string[]): OptionProblem[] {
  return Object.keys(option ?? {})
    .filter((name) => !known.includes(name))
    .map((name) => ({
      key: `${key}.${name}`,
      complaint: "is unknown",
      remedy: `There are ${known.join(", ")}.`,
    }));
}

function imageProblems({ images = {} }: WorkloadOptions): OptionProblem[] {
  return Object.entries(images)
    .filter(
      ([, image]) =>
        !REFERENCE.test(image) || image === "" || !/[:@]/.test(image.replace(/^[^/]*:[0-9]+\//, "")),
    )
    .map(([name, image]) => ({
      key: `images.${name}`,
      complaint: `is "${image}", which is not an image with a tag or a digest`,
      remedy:
        'Give a reference such as "registry.example.com/node:22.20.0", or ":22.20.0" or "@sha256:..." alone.',
    }));
}

function problemsOfResources(options: WorkloadOptions): OptionProblem[] {
  return WORKLOAD_KEYS.resources.flatMap((name) =>
    options.resources?.[name] === undefined
      ? []
      : resourceProblems(name, options).map(([field, complaint]) => ({
          key: `resources.${name}.${field}`,
          complaint,
          remedy: "Raise the limit, or lower the request.",
        })),
  );
}

function podProblems({ placement, pods = {} }: WorkloadOptions): OptionProblem[] {
  const { operators = {}, ...parts } = pods;
  return [
    ...ownKeysIn("placement", placement),
    ...Object.entries(parts).flatMap(([part, own]) => ownKeysIn(`pods.${part}`, own)),
    ...Object.entries(operators).flatMap(([name, own]) => ownKeysIn(`pods.operators.${name}`, own)),
  ];
}

function ownKeysIn(key: string, options: PodOptions | undefined): OptionProblem[] {
  return (["labels", "annotations"] as const).flatMap((field) =>
    Object.keys(options?.[field] ?? {})
      .filter((name) => OWN_KEY.test(name))
      .map((name) => ({
        key: `${key}.${field}`,
        complaint: `has "${name}", which Argosy sets itself`,
        remedy: "Leave it out.",
      })),
  );
}
