import { nearest } from "../../definition/nearest";
import type { FailureReason, WarningReason } from "../../runtime/failure";
import type { WaitingReason } from "../../runtime/status/conditions";
import type { ForeseenError } from "../commandError";
import { DRY_RUN_REFUSED } from "../diff/preview";

/** The explanation of one code. Each text is whole sentences. */
export interface Entry {
  /** What happened. */
  readonly happened: string;
  /** Where to look: the file, the line, the field or the object. */
  readonly look: string;
  /** What to do. */
  readonly remedy: string;
}

/** The reason of a failed reconcile: in the Ready condition, the Event, the run and the metrics. */
const FAILURES: Readonly<Record<FailureReason, Entry>> = {
  HandlerError: {
    happened:
      "The handler answered an error, since it refuses the object as it is, or it raised an exception.",
    look: "The message is the handler's own. It is the text of error in the answer, or of the exception that the handler raised.",
    remedy:
      "If the message begins with a file of the handler, mend the handler there, and run argosy test. Else change the object as the message asks.",
  },
  HandlerCrashed: {
    happened: "The handler's process ended before it answered.",
    look: "The end of the handler's standard error names file and line: argosy explain shows it, argosy dev prints it, and the recorded run keeps it.",
    remedy: "Mend the handler at that place, and run argosy test.",
  },
  HandlerTimedOut: {
    happened: "The handler gave no answer within timeoutSeconds, and its process was killed.",
    look: "The handler: an endless loop, a wait for something outside, a breakpoint. timeoutSeconds is in operator.yaml.",
    remedy: "Make the handler faster, or raise timeoutSeconds in operator.yaml.",
  },
  HandlerNotStarted: {
    happened: "The handler's process could not be started, or could not be asked.",
    look: "handler in operator.yaml: the command and the image. On this machine, whether the interpreter is on the PATH.",
    remedy: "Correct the command or the image in operator.yaml, or install the interpreter.",
  },
  InvalidAnswer: {
    happened: "The handler's answer breaks the contract, or standard output has a line that is no answer.",
    look: "The message names the field of the answer, for example children[1].metadata.name. children in operator.yaml lists the kinds that may be answered.",
    remedy: "Correct that field in the handler, write messages to standard error only, and run argosy test.",
  },
  ChildConflict: {
    happened: "An object that is not this custom resource's has the name of a child.",
    look: "The message names that object and whose it is. Its metadata.ownerReferences and metadata.managedFields say more.",
    remedy:
      "Rename the child or delete that object, or hand it over with the annotation argosy.dev/adopt=true. If the operator was renamed, add its former name to formerNames in operator.yaml.",
  },
  ChildRefused: {
    happened:
      "The API server did not accept a child. Or it has failed for more than 20 seconds to write the child, and answered other requests.",
    look: "The message has the API server's own words: the field of the child, the webhook, the quota, the right that is missing, or the aggregated API that is away.",
    remedy:
      "Correct the field in the handler. If the child's kind forbids the change, declare update: recreate or never for that kind in operator.yaml. If a right is missing, declare it where the message says. If a webhook or an aggregated API is away, mend it.",
  },
  StatusRefused: {
    happened: "The API server did not accept the status.",
    look: "The message names the field. Compare the status that the handler answers with the schema of status in the CRD.",
    remedy: "Correct the status in the handler or its schema in the CRD, and deploy the operator again.",
  },
  RunFailed: {
    happened: "The pod of a run ended before the run could report anything (execution: pod).",
    look: "The Workflow of the run: argosy runs names it, and its pod says whether the image could be pulled and the memory was enough.",
    remedy: "Correct image or resources in operator.yaml, or wait for a node with room.",
  },
  RunSuspended: {
    happened:
      "Somebody suspended the Workflow of the object's run, and all other runs of the object wait for its end (execution: pod).",
    look: "The message names the Workflow. Argo's UI shows it with the buttons Resume and Terminate.",
    remedy: "Resume or terminate the Workflow. The next resync tries the object again.",
  },
  RunOverdue: {
    happened:
      "The Workflow of the object's run has not ended although its time is over, and all other runs of the object wait for its end (execution: pod).",
    look: "The message names the Workflow. The log of Argo's Workflow controller says why it is not ended.",
    remedy: "Delete the Workflow. The next resync tries the object again.",
  },
  NamespaceNotGranted: {
    happened:
      "The operator's account may not read or write children in a namespace, or an object that is being deleted had children in a namespace that is no longer listed.",
    look: "The message names the namespace and the right. namespaces in operator.yaml lists where the operator has rights.",
    remedy:
      "Add the namespace to namespaces in operator.yaml if it is not there. If the namespace was deleted and created again, run pulumi up --refresh. If children of an object that is being deleted may stay there, annotate the object argosy.dev/skip-finalize=true.",
  },
  KindMissing: {
    happened: "The cluster does not serve a kind that operator.yaml declares.",
    look: "The message names the kind. children, uses and watch in operator.yaml declare kinds, and kubectl api-resources lists what the cluster serves.",
    remedy:
      "Install what brings the kind, or correct apiVersion, kind or plural in operator.yaml. The object is reconciled again as soon as the kind is there.",
  },
  KindNotListed: {
    happened:
      "The operator's account may not list a kind of children in the cluster, or the API server fails to list this kind and lists others.",
    look: "The message has the API server's words. If it is a matter of rights, somebody probably changed the ClusterRole or the ClusterRoleBinding of the operator's runner by hand. If not, look at what serves the kind: the conversion webhook of its CRD, or its aggregated API.",
    remedy: "Run pulumi up --refresh, or mend what serves the kind.",
  },
  WatchCycle: {
    happened:
      "Two operators watch what the other one makes: a watched object was made of a child of this operator, and that child of an object that was made in the same way, more than five times in a row. No children are made of it, since that would go on without end.",
    look: "watch and children in operator.yaml of both operators. The object's owner references name what it was made of, step by step.",
    remedy:
      "Give what one of the two makes a label that the other one does not select. Then delete the objects that were made.",
  },
  ChildrenTooLarge: {
    happened:
      "The children of an object are longer than 8 MiB of JSON, which is more than a handler is given.",
    look: "The message names the largest child. kubectl get --show-managed-fields shows who wrote its fields: others may add to a child.",
    remedy: "Remove from that child what others wrote into it, or let the handler answer smaller children.",
  },
  UsedNotReadable: {
    happened: "An object that the custom resource uses cannot be read, or is too much.",
    look: "The message names the key in uses of operator.yaml, and the right or the size.",
    remedy:
      "Deploy the operator again: its rights follow from uses in operator.yaml. If it is too much, let the object name fewer.",
  },
  ApiError: {
    happened: "The API server refused a request for a reason that no other code names.",
    look: "The message has the API server's own words and its status code.",
    remedy:
      "Correct what the message names. A webhook, a quota or a policy of the cluster is often the cause.",
  },
  InternalError: {
    happened: "Argosy has a fault, or met something that nobody foresaw.",
    look: "The log of the operator's runner: argosy logs shows it, with the lines before the error.",
    remedy: "Report it with the message and these lines. The object is tried again meanwhile.",
  },
};

/** The reason of a Warning Event about something that did not fail a reconcile by itself. */
const WARNINGS: Readonly<Record<Exclude<WarningReason, FailureReason>, Entry>> = {
  ChildContested: {
    happened: "Somebody else changes a child back each time after the operator has applied it.",
    look: "The Event names the child, the fields and the other field manager. kubectl get --show-managed-fields shows both.",
    remedy: "Leave these fields out of the handler's answer, or stop the other one.",
  },
  EventBusBeganAnew: {
    happened: "The event bus lost its memory, and a pod that began before it was replaced.",
    look: "The pods of the event bus and of its sensors in the namespace of the installation.",
    remedy: "Nothing, if it happens once. If it repeats, give the event bus more memory or a volume.",
  },
  EventContradicts: {
    happened: "An event from outside came again under the same id with other content.",
    look: "The Event is on the CRD and names the id. id in on of operator.yaml says which fields make the id.",
    remedy: "Add what differs to id in operator.yaml, or let the sender use a new id for new content.",
  },
  EventRefused: {
    happened: "An event from outside became no object.",
    look: "The Event is on the CRD and names the field. when, id and create in on of operator.yaml say what becomes of an event.",
    remedy: "Correct create in operator.yaml, or what the sender sends. argosy test tries it with a fixture.",
  },
  FinalizeSkipped: {
    happened: "The object was deleted without asking the handler.",
    look: "The annotation argosy.dev/skip-finalize on the object.",
    remedy: "Remove by hand what only the handler knows of, in systems outside of the cluster.",
  },
  ForeignFinalizer: {
    happened: "The object has a finalizer of another operator of Argosy, so it could never be deleted.",
    look: "metadata.finalizers of the object: what stands after the slash is the other operator's name.",
    remedy:
      "If this operator had that name before, add it to formerNames in operator.yaml. Otherwise deploy the other operator again, or remove the finalizer.",
  },
  UseCycle: {
    happened: "An object and what it uses change each other without end.",
    look: "The Event names the used object. uses in operator.yaml declares it, and another operator writes it after each change.",
    remedy: "Let one of the two not use the other, or answer the same where nothing has changed.",
  },
  UsedKindMissing: {
    happened: "The cluster does not serve a kind that uses declares, so the handler is given nothing of it.",
    look: "The Event names the key in uses of operator.yaml.",
    remedy: "Install what brings the kind, or correct apiVersion, kind or plural in operator.yaml.",
  },
  UsedSecretNotGiven: {
    happened: "A Secret that the object names is not there, or the operator is not given it.",
    look: "The Event names the Secret, and the label argosy.dev/used-by that it needs.",
    remedy: "Create the Secret, or label it as the Event says.",
  },
};

/** The reason of a Ready condition that is False although nothing failed. */
const STATES: Readonly<Record<WaitingReason, Entry>> = {
  ChildrenNotReady: {
    happened: "Every child is applied, and some are not ready yet.",
    look: "The message of the Ready condition names these children.",
    remedy: "Wait. If it lasts, look at the child: kubectl describe names what it waits for.",
  },
  Finalizing: {
    happened: "The object is being deleted, and its handler has not finished.",
    look: "finalize in the handler, and its log: argosy logs.",
    remedy:
      "Wait. If the handler can never finish, annotate the object argosy.dev/skip-finalize=true, and clean up by hand.",
  },
};

/** Errors with which a command or a program ends. The message names file, line, column and field if there are any. */
const COMMANDS: Readonly<Record<Exclude<ForeseenError, FailureReason>, Entry>> = {
  OperatorError: {
    happened:
      "A definition, its CRD, its handler's files, or what a program says of operators is not in order.",
    look: "Each line is FILE:LINE:COLUMN: FIELD COMPLAINT. REMEDY.",
    remedy: "Do what the end of each line says. argosy test checks all of it without a cluster.",
  },
  KubeconfigError: {
    happened: "The kubeconfig cannot be used.",
    look: "The file that --kubeconfig or KUBECONFIG names, else ~/.kube/config, and the context in it.",
    remedy: "Name another file or context with --kubeconfig or --context.",
  },
  ContainerEngineError: {
    happened: "Docker or Podman cannot be used, or has not the handler's image.",
    look: "The message has the engine's own words. handler in operator.yaml names the image.",
    remedy:
      "Do what the message says: start the engine, pull, build or load the image, or run argosy dev without --in-image.",
  },
  ApiUnreachableError: {
    happened: "The API server did not answer.",
    look: "The message names the address. The kubeconfig says which cluster that is.",
    remedy: "Start the cluster, or name another with --context. A running operator tries again by itself.",
  },
  DeadlineError: {
    happened: "Something that was waited for did not happen in time.",
    look: "The message names it, for example the CRD that the API server does not serve yet.",
    remedy: "Try again on a machine with less load. If it repeats, argosy doctor looks for the cause.",
  },
  UnknownKindError: {
    happened: "The cluster does not serve a kind.",
    look: "The message names the kind. kubectl api-resources lists what there is.",
    remedy: "Install what brings the kind, or correct its name.",
  },
};

/** Failures that only a preview of an answer has. */
const PREVIEWS: Readonly<Record<typeof DRY_RUN_REFUSED, Entry>> = {
  [DRY_RUN_REFUSED]: {
    happened: "The API server cannot try a write, since an admission webhook supports no dry run.",
    look: "The message names the webhook. Its ValidatingWebhookConfiguration or MutatingWebhookConfiguration has the field sideEffects.",
    remedy:
      "If the webhook has no side effects, set sideEffects to None, or to NoneOnDryRun. Otherwise try the handler in argosy dev.",
  },
};

/** All codes, with where each is seen. Everything else about errors follows from here: the command, the page and `explain`. */
export const CATALOGUE = {
  "why an object is not Ready: the reason of its Ready condition, of a Warning Event and of a run": FAILURES,
  "what an object waits for: the reason of its Ready condition": STATES,
  "what a Warning Event says beside that": WARNINGS,
  "what argosy diff and argosy try say beside that": PREVIEWS,
  "what a command ends with": COMMANDS,
} as const satisfies Readonly<Record<string, Readonly<Record<string, Entry>>>>;

const ENTRIES = new Map<string, Entry>(Object.values(CATALOGUE).flatMap((group) => Object.entries(group)));

/** Every code. */
export const CODES: readonly string[] = [...ENTRIES.keys()];

/** The entry of a code, as it is written. Undefined for any other word, such as a handler's own reason. */
export function entryOf(code: string): Entry | undefined {
  return ENTRIES.get(code);
}

/** The code that a word means: the same in other letters, or the nearest. */
export function codeFor(word: string): { readonly code?: string; readonly meant?: string } {
  const code = CODES.find((known) => known.toLowerCase() === word.toLowerCase());
  if (code !== undefined) return { code };
  const meant = nearest(word, CODES);
  return meant === undefined ? {} : { meant };
}
