import { IMAGES, imageReference } from "../../components/manifests/images";
import { RESOURCES } from "../../components/manifests/resources";
import { WORKLOAD_KEYS } from "../../components/manifests/workloads";
import { FUNCTION_IMAGES } from "../../runtime/operator/definition";
import { code, table } from "./table";

const INTRODUCTION = `# Images, sizes and parts

The names and defaults of \`images\`, \`resources\`, \`pods\` and \`transform\`. This page is generated from the sources. [Customize](../customize.md) says how to change them.
`;

/** docs/reference/pods.md: the names by which a program changes pods and manifests, with their defaults. */
export function podsPage(): string {
  return [INTRODUCTION, images(), sizes(), parts()].join("\n");
}

function images(): string {
  const ours = Object.entries(IMAGES).map(([name, image]) => [name, imageReference(image)] as const);
  const rows = [...ours, ...Object.entries(FUNCTION_IMAGES)].map((row) => row.map(code));
  const about =
    "`engine` runs Argosy's engine: in runners, runs, the keeper and the intake. `python` and `javascript` run functions whose definition names no image. `handlerShell` is the shell of all other handlers, and of functions if you replace the whole image.";
  return `## Images\n\n${about}\n\n${table(["image", "default"], rows)}`;
}

function sizes(): string {
  const rows = Object.entries(RESOURCES).map(([name, { requests, limits }]) => [
    code(name),
    requests.cpu,
    requests.memory,
    limits.memory,
  ]);
  const about =
    "`handlerShell` is the container that copies a shell into a runner's pod, because the handler's image may contain no shell. `runHandlerShell` is the same container in the pod of a run. No container has a CPU limit. A handler's resources are in its definition.";
  return `## Sizes\n\n${about}\n\n${table(["container", "CPU request", "memory request", "memory limit"], rows)}`;
}

function parts(): string {
  const named = (keys: readonly string[]) => keys.map(code).join(", ");
  const pods = WORKLOAD_KEYS.pods.filter((part) => part !== "operators");
  return `## Parts\n\n\`pods\` takes ${named(pods)}, and \`operators\` with the names of operators. \`run\` are the runs in pods.\n\n\`transform\` takes ${named(WORKLOAD_KEYS.transform)}.\n`;
}
