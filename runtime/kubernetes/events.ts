import { builtIn } from "./discovery";
import { type Manifest, microTimeOf, type ObjectName } from "./objects";

/** The kind of Kubernetes Events. */
export const EVENTS = builtIn("events.k8s.io/v1", "Event");
/** The longest note that the API takes, in bytes of UTF-8 (kubernetes, pkg/apis/core/validation/events.go: NoteLengthLimit). */
export const LONGEST_NOTE = 1024;
/** The namespace of Events about objects without a namespace (kubernetes, pkg/apis/core/validation/events.go). */
const NAMESPACE_OF_OTHERS = "default";

/** The object that an Event is about, as the Event names it. */
export type Regarded = Pick<Manifest, "apiVersion" | "kind"> & {
  readonly metadata: ObjectName & { readonly uid: string };
};

/** The content of an Event, and its reporter. */
export interface EventContent {
  readonly name: string;
  readonly type: "Normal" | "Warning";
  /** One word in CamelCase. */
  readonly reason: string;
  /** At most {@link LONGEST_NOTE} bytes. */
  readonly note: string;
  /** The action, in one word. */
  readonly action: string;
  /** "argosy/argosy.memcached". */
  readonly controller: string;
  /** The pod's name. */
  readonly instance: string;
}

/** The namespace of Events about an object. */
export function namespaceOfEvents({ metadata }: Pick<Regarded, "metadata">): string {
  return metadata.namespace ?? NAMESPACE_OF_OTHERS;
}

/** An Event about an object, that happens now. */
export function eventAbout(regarded: Regarded, content: EventContent): Manifest {
  const { apiVersion, kind, metadata } = regarded;
  const { name, uid, namespace } = metadata;
  const { type, reason, note, action, controller, instance } = content;
  return {
    apiVersion: EVENTS.apiVersion,
    kind: EVENTS.kind,
    metadata: { name: content.name, namespace: namespaceOfEvents(regarded) },
    type,
    reason,
    note,
    action,
    eventTime: microTimeOf(new Date()),
    reportingController: controller,
    reportingInstance: instance,
    regarding: { apiVersion, kind, name, uid, ...(namespace && { namespace }) },
  };
}
