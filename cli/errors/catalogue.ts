import { z } from "zod";
import type { FailureReason, WarningReason } from "../../runtime/base/failure";
import type { WaitingReason } from "../../runtime/cli";
import type { ForeseenError } from "../common/commandError";

/** The schema of an {@link Entry}. */
export const ENTRY = z.strictObject({
  happened: z.string().describe("What happened."),
  look: z.string().describe("Where to look: the file, the line, the field or the object."),
  remedy: z.string().describe("What to do."),
});

/** The explanation of one code. Each text consists of whole sentences. */
export type Entry = Readonly<z.infer<typeof ENTRY>>;

/** The reason of a failed reconcile: in the Ready condition, the Event, the run and the metrics. */
const FAILURES: Readonly<Record<FailureReason, Entry>> = {
  HandlerError: {
    happened: "The handler returned an error because it refuses the object, or it raised an exception.",
    look: "The message comes from the handler: it is the error in the answer, or the text of the exception.",
    remedy:
      "If the message begins with a file of the handler, fix the handler there, and run argosy test. Otherwise change the " +
      "object as the message says.",
  },
  HandlerCrashed: {
    happened: "The handler's process ended before it returned an answer.",
    look: "The message ends with the handler's last words to standard error. The recorded run, argosy logs or the terminal of argosy dev has the lines before them. After SIGKILL there may be no words: in a cluster this mostly means that the handler's container needed more memory than resources in operator.yaml allow.",
    remedy:
      "Fix the handler at the place that its last words or the lines before them name, and run argosy test.",
  },
  HandlerTimedOut: {
    happened: "The handler did not answer within timeoutSeconds, and its process was killed.",
    look: "Look in the handler for an endless loop, a wait for another system, or a breakpoint. timeoutSeconds is in operator.yaml.",
    remedy:
      "If the handler is a program, let it flush standard output after each answer: many languages keep what is written to a " +
      "pipe. Otherwise make the handler faster, or raise timeoutSeconds in operator.yaml.",
  },
  HandlerNotStarted: {
    happened: "The handler's process could not be started, or did not accept the request.",
    look: "Look at command and image of the handler in operator.yaml. On this machine, check whether the interpreter is on the PATH.",
    remedy: "Correct the command or the image in operator.yaml, or install the interpreter.",
  },
  InvalidAnswer: {
    happened:
      "The handler's answer breaks the contract, or the handler wrote a line to standard output that is not an answer.",
    look: "The message names the field of the answer, for example children[1].metadata.name. children in operator.yaml lists the allowed kinds.",
    remedy:
      "Correct that field in the handler, write messages to standard error only, and run argosy test. A kind that children " +
      "lacks is added with argosy add child.",
  },
  ChildConflict: {
    happened: "An object that does not belong to this custom resource has the name of a child.",
    look: "The message names that object and its owner. Its metadata.ownerReferences and metadata.managedFields have the details.",
    remedy:
      "Rename the child, delete that object, or give the object to this operator with the annotation " +
      "argosy.dev/adopt=true. If the operator was renamed, add its former name to formerNames in operator.yaml.",
  },
  ChildCycle: {
    happened:
      "The object is the last in a chain of twelve objects, each of which is a child of the one before: operators create each " +
      "other's objects. The object gets no children, because such a chain never ends.",
    look: "The owner references of the object show the chain, step by step. The annotation argosy.dev/level counts its steps.",
    remedy:
      "Let one of the handlers return no child for an object that another operator created, which has the label " +
      "argosy.dev/child-of. Then delete the first object of the chain: the others go with it.",
  },
  ChildRefused: {
    happened:
      "The API server refused a child. Or it failed to write the child for more than 20 seconds, although it answered " +
      "other requests.",
    look: "The message contains the API server's reason: the field of the child, the webhook, the quota, the missing right or namespace, or the aggregated API that is not available.",
    remedy:
      "Correct the field in the handler. If the child's kind forbids the change, declare update: recreate or never for " +
      "that kind in operator.yaml. If a right or a namespace is missing, do what the message says: argosy add grant adds " +
      "what roles and bindings may grant. If a webhook, an aggregated API or the parameters of a policy are not available, repair that.",
  },
  StatusRefused: {
    happened: "The API server refused the status.",
    look: "The message names the field. Compare the status in the handler's answer with the schema of status in the CRD.",
    remedy: "Correct the status in the handler or its schema in the CRD, and deploy the operator again.",
  },
  DeletionWithheld: {
    happened:
      "In a staged roll-out, the new version of the handler no longer returned a child of the object, although no user had " +
      "changed the object. Nothing of that answer was applied, and the roll-out has halted.",
    look: "The message names the child. argosy diff, in the working tree of the new version, shows what it would change.",
    remedy:
      "If the child should go, run argosy rollout resume. Otherwise run argosy rollout undo, and mend the handler.",
  },
  RunFailed: {
    happened: "The pod of a run ended before the run could report a result (execution: pod).",
    look: "Look at the Workflow of the run, which argosy runs lists. Its pod shows whether the image could be pulled and whether there was enough memory.",
    remedy:
      "Correct image or resources in operator.yaml, or wait for a node with enough room. If the message says that the " +
      "WorkflowTemplate is not found, create it again with pulumi up --refresh.",
  },
  RunSuspended: {
    happened:
      "The Workflow of the object's run is suspended, and all other runs of the object wait until this one has ended " +
      "(execution: pod).",
    look: "The message names the Workflow and the command that resumes it. Argo's UI has the button Resume for it.",
    remedy:
      "Resume the Workflow. If this run should not continue, delete the Workflow, and the object is tried again. " +
      "Terminating it does not help: Argo does not end a suspended Workflow.",
  },
  RunOverdue: {
    happened:
      "The Workflow of the object's run has not ended although its deadline has passed, and all other runs of the object " +
      "wait until this one has ended (execution: pod).",
    look: "The message names the Workflow. The log of Argo's Workflow controller shows why it has not ended.",
    remedy: "Delete the Workflow. The object is tried again.",
  },
  NamespaceNotGranted: {
    happened:
      "The operator's account may not read or write children in a namespace, or an object that is being deleted had children in a namespace that is no longer listed.",
    look: "The message names the namespace and the right. namespaces in operator.yaml lists where the operator has rights.",
    remedy:
      "Add the namespace to namespaces in operator.yaml if it is missing there. If the namespace was deleted and created " +
      "again, run pulumi up --refresh. If it is gone for good, take it out of namespaces. If an object is being deleted and its " +
      "children may stay, annotate the object with argosy.dev/skip-finalize=true.",
  },
  KindMissing: {
    happened:
      "The cluster does not serve a kind that operator.yaml declares, or no longer serves the operator's own kind in the version " +
      "that the operator uses.",
    look: "The message names the kind. children, uses and watch in operator.yaml declare kinds, and kubectl api-resources lists the kinds that the cluster serves.",
    remedy:
      "Install the software that provides the kind, or correct apiVersion, kind or plural in operator.yaml. If it is the " +
      "operator's own kind, serve the version again in its CRD, or deploy the operator again. The object is reconciled again " +
      "soon after the cluster serves the kind.",
  },
  KindNotListed: {
    happened:
      "The operator's account may not list a kind of children in the cluster, or the API server fails to list this kind " +
      "although it lists others, or a proxy before the API server cuts these lists.",
    look: "The message contains the API server's reason. If a right is missing, the ClusterRole or the ClusterRoleBinding of the operator's runner was probably changed by hand. Otherwise look at the conversion webhook of the kind's CRD, at its aggregated API, or at the proxy.",
    remedy: "Run pulumi up --refresh, or repair the conversion webhook, the aggregated API or the proxy.",
  },
  WatchCycle: {
    happened:
      "Two operators each watch the objects that the other one creates, and the chain that led to this object went back and " +
      "forth between them more than five times. The object gets no children, because the chain would never end.",
    look: "Look at watch and children in the operator.yaml of both operators. The owner references of the object show the chain, step by step.",
    remedy:
      "Let one of the two operators give its children a label that the other one does not select. Then delete the objects " +
      "that were created.",
  },
  UsedNotReadable: {
    happened: "An object that the custom resource uses cannot be read, or is too large.",
    look: "The message names the key in uses of operator.yaml, and the right, the kind or the size.",
    remedy:
      "Deploy the operator again: its rights are derived from uses in operator.yaml. If the API server cannot list the kind, " +
      "repair what serves the kind, or declare a version that the cluster serves. If the objects are too large, let the custom " +
      "resource name fewer of them.",
  },
  ApiError: {
    happened:
      "The API server refused a request for a reason that has no code of its own, or has failed for long to answer it although it " +
      "answers others.",
    look: "The message names the reason. If the API server failed to answer, it names the request too.",
    remedy:
      "Correct the problem that the message describes. A webhook, a quota or a policy of the cluster is often the cause. If there " +
      "was no answer, a proxy before the API server may cut large requests, or the API server panics, as its log then says.",
  },
  InternalError: {
    happened: "Argosy has a bug, or an unexpected situation occurred.",
    look: "Look at the log of the operator's runner with argosy logs, in particular at the lines before the error.",
    remedy: "Report it with the message and these lines. The object is tried again.",
  },
};

/** The reason of a Warning Event about something that did not fail a reconcile by itself. */
const WARNINGS: Readonly<Record<Exclude<WarningReason, FailureReason>, Entry>> = {
  AnswersDiffer: {
    happened:
      "For twenty rounds in a row, the handler has returned different children each time that it was asked about the object, so each answer led to the next one. Rounds of runs in pods are not counted.",
    look: "The Event names the children. Record the object with argosy record, and run argosy test: it asks the handler twice, and names the fields that differ, but a time in whole seconds is the same in both.",
    remedy:
      "Let the handler return the same children for the same object. Leave out the time and random values, or keep them: take a random value from the child that exists.",
  },
  ChildContested: {
    happened:
      "Another program has changed a child back five times in a row, each time that the operator had applied it. The child is now corrected less and less often, finally every ten seconds.",
    look: "The Event names the child and the other field manager. kubectl get --show-managed-fields shows its fields.",
    remedy:
      'Leave these fields out of the handler\'s answer, or stop the other program. If the child is a Job with ttlSecondsAfterFinished, give it the annotation argosy.dev/once: "true": Kubernetes deletes it after its end, and otherwise it runs again each time.',
  },
  ChildrenTooLarge: {
    happened:
      "The children of an object have more than 8 MiB of JSON, which is too much for a request to a handler. So the handler is given only the metadata of the largest ones.",
    look: "The Event names these children. kubectl get --show-managed-fields shows who wrote their fields. Other programs may have added to them.",
    remedy:
      "Remove from these children the fields that others wrote, or let the handler return smaller children.",
  },
  EventBusRestarted: {
    happened: "The event bus lost its memory, and a pod that was older than the bus was replaced.",
    look: "Look at the pods of the event bus and of its sensors in the operators' namespace.",
    remedy:
      "Do nothing if this happens once. If it happens again and again, give the event bus more memory or a volume.",
  },
  EventContradicts: {
    happened: "An event from outside came again with the same id but with different content.",
    look: 'The Event is on the CRD and names the id. In operator.yaml, the id in the entry of the event under "on" lists the fields that form it.',
    remedy:
      "Add the fields that differ to id in operator.yaml, or let the sender use a new id for new content.",
  },
  EventRefused: {
    happened: "No object could be created from an event from outside.",
    look: 'The Event is on the CRD and names the field. In operator.yaml, when, id and create in the entry of the event under "on" define its object.',
    remedy:
      "Correct create in operator.yaml, or the event that the sender sends. Try it with a fixture and argosy test.",
  },
  FinalizeSkipped: {
    happened: "The object was deleted without asking the handler.",
    look: "Look at the annotation argosy.dev/skip-finalize of the object.",
    remedy: "Clean up by hand in systems outside of the cluster that only the handler knows.",
  },
  ForeignFinalizer: {
    happened:
      "The object has a finalizer of another operator of Argosy. As long as that operator does not run, the object cannot be deleted.",
    look: "Look at metadata.finalizers of the object: the other operator's name is after the slash.",
    remedy:
      "If this operator had that name before, add it to formerNames in operator.yaml. Otherwise let only one operator handle the kind, since each overwrites what the other one remembers in the status. Then remove the finalizer of the operator that no longer runs.",
  },
  RolloutHalted: {
    happened:
      "The roll-out of a new version of the operator has halted. It is asked about no further object by itself.",
    look: "The message says why. argosy rollout status shows how far it came, and argosy explain says what is wrong with an object.",
    remedy:
      "Run argosy rollout undo, and mend the handler. If what happened is meant, run argosy rollout resume.",
  },
  RunStopped: {
    happened: "The object's run was stopped, or its Workflow was deleted (execution: pod).",
    look: "The Event and the condition Reconciling name the Workflow. It is not known whether the run had finished a part of its work.",
    remedy:
      "Do nothing: the object gets another run when it changes, and at its next resync. To keep it from any run, annotate it with argosy.dev/paused=true.",
  },
  UseCycle: {
    happened: "An object and an object that it uses change each other without end.",
    look: "The Event names the used object. uses in operator.yaml declares it, and another operator writes it after each change.",
    remedy:
      "Let one of the two not use the other, or let the handler return the same answer if nothing has changed.",
  },
  UsedKindMissing: {
    happened:
      "The cluster does not serve a kind that uses in operator.yaml declares, so the handler gets no objects of this kind.",
    look: "The Event names the key in uses of operator.yaml.",
    remedy:
      "Install the software that provides the kind, or correct apiVersion, kind or plural in operator.yaml.",
  },
  UsedSecretNotGiven: {
    happened: "A Secret that the object names does not exist, or the operator may not use it.",
    look: "The Event names the Secret, and the label argosy.dev/used-by that the Secret needs.",
    remedy:
      "Create the Secret, or label it with the command in the Event: kubectl label secret. The operator notices that by " +
      "itself, within two minutes if it may not list Secrets.",
  },
};

/** The reason of a Ready condition that is False although nothing failed. */
const STATES: Readonly<Record<WaitingReason, Entry>> = {
  ChildrenNotReady: {
    happened: "Every child is applied, and some are not ready yet.",
    look: "The message of the Ready condition names these children.",
    remedy: "Wait. If this takes too long, look at the child: kubectl describe shows what it waits for.",
  },
  Finalizing: {
    happened: "The object is being deleted, and its handler has not finished.",
    look: "Look at finalize in the handler, and at the handler's log with argosy logs.",
    remedy:
      "Wait. If the handler can never finish, annotate the object with argosy.dev/skip-finalize=true, and clean up by hand.",
  },
};

/** Errors with which a command or a program ends. The message names file, line, column and field if there are any. */
const COMMANDS: Readonly<Record<Exclude<ForeseenError, FailureReason>, Entry>> = {
  OperatorError: {
    happened:
      "There is a mistake in a definition, its CRD, its handler's files, or a program's options for operators.",
    look: "Each line is FILE:LINE:COLUMN: FIELD COMPLAINT. REMEDY.",
    remedy:
      "Follow the remedy at the end of each line. argosy test checks all definitions without a cluster.",
  },
  KubeconfigError: {
    happened: "The kubeconfig cannot be used.",
    look: "Look at the file that --kubeconfig or KUBECONFIG names, or else at ~/.kube/config, and at the context in the file.",
    remedy: "Name another file or context with --kubeconfig or --context.",
  },
  ContainerEngineError: {
    happened: "Docker or Podman cannot be used, or does not have the handler's image.",
    look: "The message contains the reason from Docker or Podman. handler in operator.yaml names the image.",
    remedy:
      "Follow the message: start Docker or Podman, pull, build or load the image, or run argosy dev without --in-image.",
  },
  ApiUnreachableError: {
    happened: "The API server did not answer.",
    look: "The message names the address. The kubeconfig says which cluster that is.",
    remedy:
      "Start the cluster, or name another one with --context. A running operator tries again by itself.",
  },
  DeadlineError: {
    happened: "The command waited for something that did not happen in time.",
    look: "The message names it, for example the CRD that the API server does not serve yet.",
    remedy:
      "Try again on a machine with less load. If it happens again, look for the cause with argosy doctor.",
  },
  UnknownKindError: {
    happened: "The cluster does not serve a kind.",
    look: "The message names the kind. kubectl api-resources lists the kinds that the cluster serves.",
    remedy: "Install the software that provides the kind, or correct its name.",
  },
};

/** The reason why only a preview fails: the API server cannot try a write. */
export const DRY_RUN_REFUSED = "DryRunRefused";

/** Failures that only a preview of an answer has. */
const PREVIEWS: Readonly<Record<typeof DRY_RUN_REFUSED, Entry>> = {
  [DRY_RUN_REFUSED]: {
    happened: "The API server cannot try a write, because an admission webhook does not support dry runs.",
    look: "The message names the webhook. Its ValidatingWebhookConfiguration or MutatingWebhookConfiguration has the field sideEffects.",
    remedy:
      "If the webhook has no side effects, set sideEffects to None, or to NoneOnDryRun. Otherwise try the handler in argosy dev.",
  },
};

/** All codes, grouped by the place where users see them. The command `errors`, the page of the docs and `explain` all use it. */
export const CATALOGUE = {
  "why an object is not Ready: the reason of its Ready condition, of a Warning Event and of a run": FAILURES,
  "what an object waits for: the reason of its Ready condition": STATES,
  "other reasons of Warning Events": WARNINGS,
  "other reasons in argosy diff and argosy try": PREVIEWS,
  "errors that end a command": COMMANDS,
} as const satisfies Readonly<Record<string, Readonly<Record<string, Entry>>>>;

const ENTRIES = new Map<string, Entry>(Object.values(CATALOGUE).flatMap((group) => Object.entries(group)));

/** Every code. */
export const CODES: readonly string[] = [...ENTRIES.keys()];

/** The entry of an exact code. Undefined for any other word, such as a handler's own reason. */
export function entryOf(code: string): Entry | undefined {
  return ENTRIES.get(code);
}

/** A word as the code that it is in other letter cases. The word itself if there is no such code. */
export function codeFor(word: string): string {
  return CODES.find((known) => known.toLowerCase() === word.toLowerCase()) ?? word;
}
