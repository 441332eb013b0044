import type { JsonObject } from "../base/objects";
import type { OutsideEvent } from "./mapEvent";

/** How the engine changes a child that exists: see {@link ChildKind.update}. */
export type UpdatePolicy = "apply" | "recreate" | "never";

/** When a child counts as ready: a condition of its status is True, or a field of its status has one of some values. */
export type ReadyRule =
  | { readonly condition: string }
  | { readonly field: string; readonly in: readonly (string | number | boolean)[] };

/** A kind of object that a handler may return as a child. */
export interface ChildKind {
  /** Group and version, as in the manifest: "apps/v1", "v1". */
  readonly apiVersion: string;
  /** The kind, as in the manifest: "Deployment". */
  readonly kind: string;
  /**
   * What happens when the handler returns other content for an existing child. "apply": server-side apply. "recreate": the same,
   * but a child with a change of an immutable field is deleted and created again (Jobs). "never": the child is created once and
   * then left alone.
   * @default "apply"
   */
  readonly update?: UpdatePolicy | undefined;
  /**
   * When a child of this kind is ready. A missing condition or field means that it is not.
   * @default Kubernetes' own kinds have rules of their own; any other kind is ready by the conditions that many kinds share
   */
  readonly ready?: ReadyRule | undefined;
  /**
   * The resource's name in the API, "deployments". It is only needed for a kind that is not Kubernetes' own and has an irregular
   * plural, because RBAC is derived without asking a cluster.
   * @default the known plural, else the lower-cased kind with an "s"
   */
  readonly plural?: string | undefined;
  /**
   * Whether the handler no longer returns this kind, but once did. An answer with it is refused, and children of it that are left
   * are deleted: the runner keeps only the rights to find and to delete them. Take the entry out when nothing is left.
   * @default false
   */
  readonly retired?: boolean | undefined;
}

/** Objects that a handler is shown in addition to its own object and its children: named, or selected by labels. */
export interface Use {
  /** Group and version, as in the manifest: "v1". */
  readonly apiVersion: string;
  /** The kind, as in the manifest: "Secret". */
  readonly kind: string;
  /** The resource's name in the API: "secrets". */
  readonly plural: string;
  /** The name: the path of a field of the custom resource, or a constant in quotes. Undefined: `labels` is given. */
  readonly name?: string | undefined;
  /** Labels that the objects have. The values are paths and constants, as `name` is. Undefined: `name` is given. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  /** The namespace of all of them. @default that of the custom resource */
  readonly namespace?: string | undefined;
  /** The only names that a custom resource may give at the path in `name`. @default any */
  readonly names?: readonly string[] | undefined;
}

/** The handler: a program that reads one line of JSON and writes one. */
export interface HandlerCommand {
  /** The stock image in which it runs. Pin it. On an author's machine the command runs without the image. */
  readonly image: string;
  /** Program and arguments, started in the handler's folder: `["python3", "main.py"]`. */
  readonly command: readonly string[];
}

/** The images of functions whose definition does not name one. */
export const FUNCTION_IMAGES = { python: "python:3.13-slim", javascript: "node:22-slim" } as const;

/** A function that has been found: a file of the operator's folder, around which the engine's own loop runs. */
export interface HandlerFunction {
  readonly image: string;
  /** The file, relative to the folder: "main.py". */
  readonly function: string;
}

/** One key of a Secret, by reference. */
export interface SecretKeyReference {
  /** Name of the Secret, in the operators' namespace. */
  readonly secret: string;
  readonly key: string;
}

/** One RBAC rule. Wildcards are refused. */
export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[] | undefined;
}

/** Requests and limits of the handler's container, in Kubernetes quantities. */
export interface ResourceRequirements {
  readonly requests?: Readonly<Record<string, string>> | undefined;
  readonly limits?: Readonly<Record<string, string>> | undefined;
}

/** Where pods may connect to: a range of addresses, or pods of a namespace, at these ports of TCP. */
export interface Destination {
  readonly cidr?: string | undefined;
  readonly namespace?: string | undefined;
  /** @default all pods of the namespace */
  readonly podLabels?: Readonly<Record<string, string>> | undefined;
  readonly ports: readonly number[];
}

/** The parts of an object that count: everything but metadata and status, the status, and the labels with the annotations. */
export const WATCHED_PARTS = ["spec", "status", "labels"] as const;

/** One of {@link WATCHED_PARTS}. */
export type WatchedPart = (typeof WATCHED_PARTS)[number];

/** Which objects of a kind that is not the operator's own are watched, and which of their parts count. */
export interface Watch {
  /** Only objects with these labels. Empty: every object of the kind. */
  readonly labels: Readonly<Record<string, string>>;
  /** The handler is asked when one of these parts has changed. */
  readonly on: readonly WatchedPart[];
}

/** How a new version of an operator is rolled out over its objects. */
export interface RolloutPolicy {
  /** The share of the objects that come first, in percent: 1 to 100. At least one object is first. */
  readonly firstPercent: number;
  /** How long they are watched before the others follow, in seconds. */
  readonly pauseSeconds: number;
  /** The roll-out halts if this many objects fail that did not fail before. */
  readonly haltAfterFailures: number;
  /** Whether it halts if an answer leaves out a child of an object that has not changed. */
  readonly haltOnDeletions: boolean;
}

/** A schedule of an operator, checked and with its defaults. */
export interface CronSchedule {
  /** Five fields of cron: "0 3 * * *". */
  readonly cron: string;
  /** A name of the time zone database. */
  readonly timeZone: string;
  /** Within how many seconds all objects have their turn. */
  readonly spreadSeconds: number;
}

/** The kind of the objects that are reconciled. It is read from the operator's CRD, or named by the operator's `watch`. */
export interface CustomResourceKind {
  readonly group: string;
  /** The version that is stored, and that the engine reads and writes. */
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** The schema of `status` in {@link version}, if the author gave one. */
  readonly statusSchema?: JsonObject;
}

/** An operator as its definition describes it: checked, with every default filled in and its files found. */
export interface Operator {
  /** A DNS label of at most 40 characters, a letter first. */
  readonly name: string;
  /**
   * The installation that the operator belongs to. With the name it distinguishes the operator from all others in a cluster. See
   * `identityOf`.
   */
  readonly installation: string;
  /**
   * Names that this operator had before. The operator takes over what it left in a cluster under them: finalizers, children,
   * status. "cache" is a name in the same installation, "shop.cache" a name in the installation "shop".
   */
  readonly formerNames: readonly string[];
  readonly customResource: CustomResourceKind;
  /** Set if {@link customResource} is a kind that is not the operator's own. Then there is no {@link crd}. */
  readonly watch?: Watch;
  /** Every kind that the handler may return. An answer with another kind is refused. */
  readonly children: readonly (ChildKind & { readonly update: UpdatePolicy; readonly plural: string })[];
  /** The further objects that the handler is shown, by the keys of the request's `used`. */
  readonly uses: Readonly<Record<string, Use>>;
  readonly handler: HandlerCommand | HandlerFunction;
  /**
   * Further folders that the handler uses, relative to the operator's own: "../shared". They are deployed together with it, and
   * Python finds modules in them. @default none
   */
  readonly include?: readonly string[];
  /** Where the handler's files come from in a cluster. @default ConfigMaps that contain the folder */
  readonly files?: { readonly image: string };
  /** "resident": a living runner; "pod": one pod per run. */
  readonly execution: "resident" | "pod";
  /**
   * For how many objects the handler is asked at once, which is also the most handler processes. With `execution: "pod"` it is
   * the most runs that have a pod, and the engine in such a pod reads 1.
   */
  readonly concurrency: number;
  /** After this many seconds without an answer, the handler's process group is killed. */
  readonly timeoutSeconds: number;
  /** Every object is reconciled at least this often, in seconds. */
  readonly resyncSeconds: number;
  /** Namespaces whose objects are handled. */
  readonly namespaces: "all" | readonly string[];
  /** When the handler is asked with an instant that is `due`, by the schedules' names. @default none */
  readonly schedules?: Readonly<Record<string, CronSchedule>>;
  /** Whether the handler is asked to "finalize" before an object goes. */
  readonly finalize: boolean;
  /**
   * "changed": the handler's answer follows from its request alone, so that it need not be asked the same twice. Without an effect with
   * `execution: "pod"`.
   * @default it is asked in every reconcile
   */
  readonly ask?: "changed";
  readonly resources: ResourceRequirements;
  /** Where the pods of the handler may connect to, in addition to DNS and the API server. @default anywhere */
  readonly egress?: readonly Destination[];
  /** Environment variables of the handler. */
  readonly env: Readonly<Record<string, string>>;
  /** Environment variables of the handler that come from Secrets. */
  readonly secretEnv: Readonly<Record<string, SecretKeyReference>>;
  /** Which runs are recorded as Workflows. With `execution: "pod"` every run is one. */
  readonly record: "changes" | "all" | "failures";
  /** Whether Kubernetes' roles view, edit and admin reach the custom resources. @default false */
  readonly userRoles?: boolean;
  /** A new version is rolled out in stages. @default it is asked about every object at once */
  readonly rollout?: RolloutPolicy;
  /** Further RBAC for a handler with side effects. The handler gets a token only if there is some. */
  readonly rules: readonly PolicyRule[];
  /**
   * The rights that Roles and bindings in the handler's answers may grant. The runner holds exactly these rights, since Kubernetes
   * lets no account grant rights that it does not have. An existing role is a rule here: `bind`, by the role's name.
   */
  readonly grants: readonly PolicyRule[];
  /** Events from outside that become custom resources, or wake objects. @default none */
  readonly on?: readonly OutsideEvent[];
  /** How long objects that were created from an event stay after they are Ready, in seconds, by event name. @default for ever */
  readonly eventTtls?: Readonly<Record<string, number>>;
  /** Runners of a resident operator. @default what the program says of all operators */
  readonly replicas?: number;
  /** Absolute path of the operator's folder. */
  readonly folder: string;
  /** The author's CustomResourceDefinition as it was written. Empty for an operator with {@link watch}. */
  readonly crd: JsonObject;
  /** The fields that the program gave instead of the definition: "namespaces", "env.LOG_LEVEL". */
  readonly overridden: readonly string[];
}
