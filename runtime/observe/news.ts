// Everything that it reports. Begin here.
import type { ObjectName } from "../base/objects";
import type { TypeMeta } from "../base/resource";
import type { Owner } from "./ownership";

/** A changed child, as it is reported to its owner. */
export interface ChangedChild extends ObjectName {
  readonly kind: string;
  /** The last field manager, other than ours, that wrote to the child. Undefined if there is none, or the child is gone. */
  readonly by?: string | undefined;
  /** Whether it is gone and was a Job that Kubernetes deletes some time after the Job's end. @default false */
  readonly isExpiring?: boolean;
}

/** What the watches report about an object. */
export type ObjectNews =
  /**
   * The object is new, or a part of it has changed for which it is reconciled. `isHinted`: the event path sends a hint for it as well,
   * since the object is new, or has a new generation or annotation of Argosy's.
   */
  | {
      readonly kind: "object changed";
      readonly name: ObjectName;
      readonly resourceVersion: string;
      readonly isHinted: boolean;
    }
  /** Only one of our finalizers, or the engine's memory, was removed from the object. */
  | { readonly kind: "object stripped"; readonly name: ObjectName }
  /** The object is new here, and was handled as it is: as far as is known, it is ready, or it is not. */
  | { readonly kind: "object ready" | "object unready"; readonly name: ObjectName }
  /** The object is gone, or no longer one of those that are watched. */
  | { readonly kind: "object gone"; readonly name: ObjectName; readonly uid: string };

/** What the watches report about a child of an object, other than our own writes. */
export type ChildNews =
  /** Something else of the child has changed than the fields that we applied, or it is going as we wanted. */
  | { readonly kind: "child reports"; readonly owner: Owner }
  /** The same, and the child was not ready before and still is not. */
  | { readonly kind: "child progresses"; readonly owner: Owner }
  /** Something other than us removed or changed what we applied. */
  | { readonly kind: "child drifted"; readonly owner: Owner; readonly child: ChangedChild }
  /** The child is finally gone, because we deleted it. */
  | { readonly kind: "child gone"; readonly owner: Owner };

/** An object that custom resources use has changed, or all objects of a use. */
export interface UsedNews {
  readonly kind: "used changed";
  /** The keys of the custom resources that use it. */
  readonly users: readonly string[];
  /** The changed object or kind, in words: "ConfigMap shop/settings". */
  readonly what: string;
  /** Whether an operator of Argosy changed it. */
  readonly isByOperator: boolean;
}

/** What the engine itself has to report about an object, by its key. */
export interface OwnNews {
  readonly kind: /** An event from elsewhere says that the object may have changed. */
    | "hinted"
    /** An event from outside has named the object. */
    | "woken"
    /** A caller waits for a run of the object. */
    | "requested"
    /** Another process has ended its work on the object. */
    | "taken over"
    /** A run of the object in a pod has begun, was suspended, or has ended. */
    | "run changed"
    /** There is a place for a run of the object in a pod. */
    | "place free"
    /** It is the object's turn in the resync. */
    | "resync turn"
    /** The object was refused for want of memory, and has room now. */
    | "has room";
  readonly key: string;
}

/** What the engine observes. `when/rules.ts` says for each of these which objects are reconciled, and how soon. */
export type News =
  | ObjectNews
  | ChildNews
  | UsedNews
  | OwnNews
  /** The cluster no longer serves a kind of which these objects have children. */
  | { readonly kind: "children unserved"; readonly owners: readonly Owner[] }
  /** An object of another kind, which was the operator's before, has children. Reported once for each such kind. */
  | { readonly kind: "former kind"; readonly owner: string }
  /** The Memory of an object that we do not own was created or deleted by another. A former leader's creation may come late. */
  | { readonly kind: "memory created" | "memory gone"; readonly name: ObjectName }
  /**
   * A kind was listed for the first time, or again after a refusal: objects that wait for it can be reconciled.
   * `namespace`: where. Undefined: in all namespaces.
   */
  | { readonly kind: "kind listed"; readonly listed: TypeMeta; readonly namespace: string | undefined }
  /** The process begins to lead. */
  | { readonly kind: "term begun" }
  /** The handler's files have changed, or those of runs in pods. */
  | { readonly kind: "handler renewed" | "program renewed" }
  /** Objects that waited in a staged roll-out wait no longer. */
  | { readonly kind: "stage opened" };

/** Receives news. Never throws. */
export type Emit = (news: News) => void;
