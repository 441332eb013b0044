import {
  buildEngineFiles,
  buildFiles,
  type OperatorFiles,
} from "../../components/manifests/operator/configMaps";
import type { OperatorOptions } from "../../components/manifests/operator/options";
import type { Operator } from "../../runtime/operator/definition";
import { addFiles, writeFolder } from "./operatorFolder";
import { operator } from "./support/objects";
import { samplePlatform } from "./support/platform";

/** Options of an operator's manifests, all that can be left out left out. */
export function operatorOptions(more: Partial<OperatorOptions> = {}): OperatorOptions {
  return {
    platform: samplePlatform({ namespace: "argosy", instanceId: "argosy", jetStreamVersion: "2.10.29" }),
    placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
    argosyVersion: "1.2.3",
    replicas: 1,
    runsKeptSeconds: 3600,
    apiServer: [],
    failedRunsKeptSeconds: 86400,
    eventPathName: "argosy",
    ...more,
  };
}

/** A placement that says something of everything. */
export const PLACEMENT: OperatorOptions["placement"] = {
  registry: "mirror.example.com/hub",
  imagePullSecrets: ["pull"],
  nodeSelector: { disk: "ssd" },
  tolerations: [{ key: "dedicated", operator: "Exists" }],
};

/** An operator with files, and its ConfigMaps. The folder is removed at once: they hold all of it. */
export function withFiles(
  more: Partial<Operator> = {},
  files: Readonly<Record<string, string>> = { "main.py": "" },
  options = operatorOptions(),
): { operator: Operator; files: OperatorFiles } {
  const folder = writeFolder({});
  addFiles(folder, files);
  const made = operator({ folder, ...more });
  const engine = buildEngineFiles("argosy", options.platform.namespace, {
    "engine.js": "//",
    "handler.sh": "#",
  });
  return { operator: made, files: buildFiles(made, options, engine) };
}
