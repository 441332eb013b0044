// Made by "argosy types" of the CRD. Make it again when that has changed.

export interface WebsiteSpec {
  /** The image that serves the site on port 8080. */
  readonly image: string;
  readonly replicas: number;
}

export type WebsiteStatus = Readonly<Record<string, unknown>>;

export interface Website {
  readonly apiVersion: "web.example.com/v1";
  readonly kind: "Website";
  readonly metadata: Metadata;
  readonly spec: WebsiteSpec;
  readonly status?: WebsiteStatus;
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
  readonly object: Website;
  readonly children: readonly KubernetesObject[];
  readonly attempt: number;
  readonly dryRun?: true;
  readonly [field: string]: unknown;
}

/** What reconcile answers. */
export interface Answer {
  readonly children: readonly KubernetesObject[];
  readonly status?: WebsiteStatus;
  readonly requeueAfterSeconds?: number;
  readonly [field: string]: unknown;
}
