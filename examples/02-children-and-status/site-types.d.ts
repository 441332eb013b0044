// Made by "argosy types" of the CRD. Make it again when that has changed.

export interface SiteSpec {
  /** The image that serves the site. */
  readonly image: string;
  /** The port of the image. */
  readonly port: number;
  readonly replicas: number;
}

export interface SiteStatus {
  /** How many replicas are ready. */
  readonly readyReplicas?: number;
  /** Where the site is within the cluster. */
  readonly url?: string;
}

export interface Site {
  readonly apiVersion: "sites.example.com/v1";
  readonly kind: "Site";
  readonly metadata: Metadata;
  readonly spec: SiteSpec;
  readonly status?: SiteStatus;
}

export interface Metadata {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly generation?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly [field: string]: unknown;
}

/** An object of any kind. */
export interface KubernetesObject {
  readonly apiVersion: string;
  readonly kind: string;
  // biome-ignore lint/suspicious/noExplicitAny: every kind has fields of its own
  readonly [field: string]: any;
}

/** What reconcile and finalize are given. */
export interface Request {
  readonly key: string;
  readonly event: "reconcile" | "finalize";
  readonly object: Site;
  readonly children: readonly KubernetesObject[];
  readonly attempt: number;
  readonly dryRun?: true;
  readonly [field: string]: unknown;
}

/** What reconcile answers. */
export interface Answer {
  readonly children: readonly KubernetesObject[];
  readonly status?: SiteStatus;
  readonly requeueAfterSeconds?: number;
  readonly [field: string]: unknown;
}
