/** An entry of a container's `env`. */
export interface EnvironmentVariable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?:
    | { readonly fieldRef: { readonly fieldPath: string } }
    | { readonly secretKeyRef: { readonly name: string; readonly key: string } };
}

/** An entry of a container's `volumeMounts`. */
export interface VolumeMount {
  readonly name: string;
  readonly mountPath: string;
  readonly readOnly?: boolean;
}

/** An HTTP probe of a container. */
export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds: number;
  readonly timeoutSeconds: number;
  readonly failureThreshold: number;
}

/** A container, as far as ours go; Kubernetes' own fields. */
export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command: readonly string[];
  readonly workingDir?: string;
  readonly env?: readonly EnvironmentVariable[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly startupProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly resources: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly securityContext: object;
  readonly volumeMounts: readonly VolumeMount[];
}

/** A volume: its name, and its source in a field of Kubernetes' own name. */
export interface Volume {
  readonly name: string;
  readonly emptyDir?: { readonly medium?: "Memory"; readonly sizeLimit?: string };
  readonly configMap?: {
    readonly name: string;
    readonly defaultMode: number;
    readonly items?: readonly object[];
  };
  readonly projected?: { readonly defaultMode: number; readonly sources: readonly object[] };
}

/** The two forms of an operator's pod: see `execution` of a definition. */
export type PodForm = "resident" | "pod";
