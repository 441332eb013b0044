// Every image and version.
import { FUNCTION_IMAGES, type Operator } from "../../runtime/program";
import { hasPlaceholder } from "./placeholder";
import type { PodPlacement } from "./pods";

/** One container image, pinned. */
export interface Image {
  /** Registry and path, without a tag: "quay.io/argoproj/argo-events". */
  readonly repository: string;
  readonly tag: string;
}

/**
 * Every image that Argosy itself deploys, and so every version of Argo, in one place. The list has no digests. A program gives
 * them by {@link ImageOptions.images}.
 */
export const IMAGES = {
  argoEvents: { repository: "quay.io/argoproj/argo-events", tag: "v1.9.11" },
  workflowController: { repository: "quay.io/argoproj/workflow-controller", tag: "v4.1.2" },
  argoServer: { repository: "quay.io/argoproj/argocli", tag: "v4.1.2" },
  argoExecutor: { repository: "quay.io/argoproj/argoexec", tag: "v4.1.2-nonroot" },
  eventBus: { repository: "docker.io/library/nats", tag: "2.10.29" },
  eventBusReloader: { repository: "docker.io/natsio/nats-server-config-reloader", tag: "0.14.0" },
  eventBusMetrics: { repository: "docker.io/natsio/prometheus-nats-exporter", tag: "0.14.0" },
  /** Runs Argosy's engine, which comes from a ConfigMap: in runners, runs, the keeper and the intake. */
  engine: { repository: "docker.io/library/node", tag: "22.20.0-alpine3.22" },
  /** Statically linked, because its shell must run in every image that an author chooses. */
  handlerShell: { repository: "docker.io/library/busybox", tag: "1.37.0-musl" },
} as const satisfies Record<string, Image>;

/** An image of {@link IMAGES}, or the default image of functions in a language. */
export type ImageName = keyof typeof IMAGES | keyof typeof FUNCTION_IMAGES;

const FUNCTION_LANGUAGES = Object.keys(FUNCTION_IMAGES) as (keyof typeof FUNCTION_IMAGES)[];

/** Which images the pods use. */
export interface ImageOptions {
  readonly placement: Pick<PodPlacement, "registry">;
  /** @default {@link IMAGES} */
  readonly images?: Readonly<Partial<Record<ImageName, string>>>;
}

/** One of our images as a pod names it. */
export function imageOf(name: keyof typeof IMAGES, { images, placement }: ImageOptions): string {
  return mirrored(chosen(imageReference(IMAGES[name]), images?.[name]), placement.registry);
}

/** The image of an operator's handler as its pod names it. */
export function handlerImageOf({ handler }: Operator, { images = {}, placement }: ImageOptions): string {
  const language = defaultLanguageOf(handler);
  return mirrored(chosen(handler.image, language && images[language]), placement.registry);
}

/**
 * Whether a handler runs in a default image of functions, perhaps of another tag. Those have a shell and the tools that
 * runtime/pod/handlerContainer/handler.sh needs.
 */
export function hasFunctionImage({ handler }: Operator, { images = {} }: ImageOptions): boolean {
  const language = defaultLanguageOf(handler);
  return language !== undefined && /^([:@]|$)/.test(images[language] ?? "");
}

/** The language of a function whose definition names no image. */
function defaultLanguageOf(handler: Operator["handler"]): keyof typeof FUNCTION_IMAGES | undefined {
  if (!("function" in handler)) return undefined;
  return FUNCTION_LANGUAGES.find((language) => FUNCTION_IMAGES[language] === handler.image);
}

/** The image of an operator's files as its pod names it. Undefined if the files come from ConfigMaps. */
export function filesImageOf({ files }: Operator, { placement }: ImageOptions): string | undefined {
  return files && mirrored(files.image, placement.registry);
}

/** The image itself, another one, or the same with another tag or digest. */
function chosen(image: string, given: string | undefined): string {
  if (given === undefined) return image;
  if (given.startsWith("@")) return `${image.replace(/@.*$/, "")}${given}`;
  return given.startsWith(":") ? `${image.replace(/(@.*|:[^/:]*)$/, "")}${given}` : given;
}

/** An image as a pod names it without a registry mirror. */
export function imageReference({ repository, tag }: Image): string {
  return `${repository}:${tag}`;
}

/**
 * A reference with its registry replaced: "python:3.13-slim" of the mirror "mirror.example.com/hub" is
 * "mirror.example.com/hub/library/python:3.13-slim". Without a mirror it stays as it is.
 */
function mirrored(reference: string, registry: string | undefined): string {
  // An image that is known later was made in the program: it is in no mirror.
  if (registry === undefined || hasPlaceholder(reference)) return reference;
  const [first = "", ...rest] = reference.split("/");
  // As the container runtimes read it: a first part with a dot or a port, or "localhost", is a registry.
  const hasRegistry = rest.length > 0 && (/[.:]/.test(first) || first === "localhost");
  const onDockerHub = !hasRegistry || first === "docker.io";
  const path = hasRegistry ? rest.join("/") : reference;
  return `${registry}/${onDockerHub && !path.includes("/") ? `library/${path}` : path}`;
}
