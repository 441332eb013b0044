import { type EngineCommand, type Manifest, POD_LAYOUT, RUNNER_PORTS } from "../../runtime/program";
import { type ArgoProgram, buildDeployment } from "./deployment";
import { engineCommand, engineProbe, placeEnvironment, STARTUP_PROBE } from "./engineContainer";
import { type ImageOptions, imageOf } from "./images";
import type { ContainerPort, Deployment, EnvVar, Volume, VolumeMount } from "./kinds";
import { type PodsOptions, READ_ONLY } from "./pods";
import { heapOption, type ResourceOptions } from "./resources";
import type { TransformOptions } from "./transform";

/** A Deployment of the engine, at work for all operators. */
export interface EngineProgram
  extends Pick<ArgoProgram, "name" | "namespace" | "labels" | "replicas" | "strategy"> {
  readonly part: "keeper" | "intake";
  readonly command: EngineCommand;
  /** Environment variables in addition to those of every engine. @default none */
  readonly env?: readonly EnvVar[];
  /** Ports in addition to that of the metrics. @default none */
  readonly ports?: readonly ContainerPort[];
  /** Whether the pod reports when it can be called. @default false */
  readonly isCalled?: boolean;
  /** Configuration that the engine reads, each as a mount and its volume. @default nothing */
  readonly mounts?: readonly (VolumeMount & { readonly volume: Omit<Volume, "name"> })[];
}

/** @param engine the ConfigMap of the engine */
export function buildEngineDeployment(
  program: EngineProgram,
  options: ImageOptions & PodsOptions & ResourceOptions & TransformOptions,
  engine: Pick<Manifest, "metadata">,
): Deployment {
  const { part, command, env = [], ports = [], isCalled = false, mounts = [], ...place } = program;
  return buildDeployment(
    {
      ...place,
      part,
      container: {
        image: imageOf("engine", options),
        command: engineCommand(command),
        env: [...placeEnvironment(), ...env, { name: "NODE_OPTIONS", value: heapOption(part, options) }],
        ports: [...ports, { name: "metrics", containerPort: RUNNER_PORTS.metrics }],
        startupProbe: STARTUP_PROBE,
        ...(isCalled && { readinessProbe: engineProbe("/readyz", 5) }),
        livenessProbe: engineProbe("/livez", 10),
        volumeMounts: [
          { name: "engine", mountPath: POD_LAYOUT.engine, readOnly: true },
          ...mounts.map(({ volume: _, ...mount }) => ({ ...mount, readOnly: true })),
        ],
      },
      volumes: [
        { name: "engine", configMap: { name: engine.metadata.name, defaultMode: READ_ONLY } },
        ...mounts.map(({ name, volume }) => ({ name, ...volume })),
      ],
    },
    options,
  );
}
