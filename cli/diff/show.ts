import { apiVersionOf } from "../../runtime/base/objects";
import type { Operator } from "../../runtime/cli";
import { EXIT_CODES } from "../common/commandError";
import { formatReference } from "../common/objectReference";
import {
  clusterOptions,
  flag,
  jsonOption,
  namespaceOption,
  operatorsOptions,
  option,
  type ValuesOf,
} from "../common/options";
import { print, progress, styleFor } from "../common/terminal";
import type { InstalledOperators } from "../inspect/readInstalled";
import { asDeployed, type DeployedOperator } from "./deployed";
import { formatPreview, formatTotal } from "./formatPreview";
import { OBJECT_PREVIEW, type ObjectPreview } from "./preview";

/** The options of commands that preview changes. */
export const previewOptions = () => [
  flag("--details", "print a line for each field that would change"),
  flag("--with-secrets", "give the handlers the values of Secrets; they are never shown"),
  flag("--eventual", "show the end: also try children that wait until others are ready"),
  option("--installation <name>", "the installation, if an operator is deployed more than once"),
  namespaceOption(
    "only this namespace; for a single object, its namespace (default: all namespaces; for an object, that of the context)",
  ),
  ...operatorsOptions(),
  ...clusterOptions(),
  jsonOption(OBJECT_PREVIEW, "print a line of JSON for each object"),
];

/** The values of {@link previewOptions}. */
export type PreviewCommandOptions = ValuesOf<ReturnType<typeof previewOptions>>;

/** Says that the cluster does not serve the operator's kind. */
export function notServed({ name, customResource }: Pick<Operator, "name" | "customResource">): string {
  const kind = `${customResource.kind} (${apiVersionOf(customResource)})`;
  return `${name}: the cluster serves no ${kind} yet. Deploy the operator there, or run it with argosy dev.`;
}

/** The operator as the cluster knows it. Prints notes about it for the user. */
export function deployedAs(
  operator: Operator,
  installed: InstalledOperators,
  { installation }: Pick<PreviewCommandOptions, "installation">,
): DeployedOperator {
  const deployed = asDeployed(operator, installed, installation);
  for (const note of deployed.notes) progress(note);
  return deployed;
}

/** Prints a preview, with what its handler was not given as progress. Objects for which nothing would change are counted only. */
export function show(preview: ObjectPreview, { json, details }: PreviewCommandOptions): ObjectPreview {
  for (const note of preview.notes ?? []) progress(`${formatReference(preview.object)}: ${note}`);
  if (json) json(preview);
  else if (preview.result !== "unchanged") print(formatPreview(preview, styleFor(process.stdout), details));
  return preview;
}

/** Prints the totals. @returns the exit code */
export function conclude(found: readonly ObjectPreview[], { json }: PreviewCommandOptions): number {
  if (!json) print(formatTotal(found));
  if (found.some(({ result }) => result === "failed")) return EXIT_CODES.failed;
  return found.some(({ result }) => result === "changed") ? EXIT_CODES.found : EXIT_CODES.fine;
}
