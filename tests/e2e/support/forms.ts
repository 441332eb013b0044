import assert from "node:assert/strict";
import type { Condition, JsonObject, KubernetesObject, Manifest } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import { session } from "./hooks";
import { waitFor } from "./progress";

/** Numbers for which both operators misbehave: for SLOW they wait until they are released. */
export const SLOW = 47;
export const CRASHES = 48;
export const HANGS = 49;
export const TOO_MANY = 51;

/** An operator of either form, with objects that have a number, and a child that shows it. */
export interface Form {
  readonly execution: "resident" | "pod";
  /** The operator's name, and so that of its WorkflowTemplate. */
  readonly operator: string;
  /** The name of its CRD in Pulumi's tree, with that of the program's component before it. */
  readonly crd: string;
  object(name: string, count: number): Manifest;
  child(name: string): Reference;
  /** The part of the child that carries the number. */
  content(count: number): JsonObject;
  /** The number of the child of an object that was slow. */
  readonly slowCount: number;
  /** Which edition of the handler's code has made a child. */
  editionOf(child: KubernetesObject): string | undefined;
  /** The number that a child carries. */
  countIn(child: KubernetesObject): number;
}

const resident: Form = {
  execution: "resident",
  operator: "memcached",
  crd: "argosy-memcacheds.cache.example.com",
  object: (name, size) => ({
    apiVersion: "cache.example.com/v1alpha1",
    kind: "Memcached",
    metadata: { name, namespace: session().team },
    spec: { size },
  }),
  child: (name) => reference("apps/v1", "Deployment", name),
  content: (replicas) => ({ spec: { replicas } }),
  slowCount: 4,
  editionOf: ({ metadata }) => metadata.annotations?.["edition"],
  countIn: ({ spec }) => (spec as { replicas: number }).replicas,
};

const pod: Form = {
  execution: "pod",
  operator: "report",
  crd: "argosy-reports.office.example.com",
  object: (name, pages) => ({
    apiVersion: "office.example.com/v1",
    kind: "Report",
    metadata: { name, namespace: session().team },
    spec: { pages },
  }),
  child: (name) => reference("v1", "ConfigMap", name),
  content: (pages) => ({ data: { pages: String(pages) } }),
  slowCount: SLOW,
  editionOf: ({ data }) => (data as { edition: string }).edition,
  countIn: ({ data }) => Number((data as { pages: string }).pages),
};

export const FORMS = { resident, pod } as const;

/** One whose objects cost no pod, for many of them: see `ProjectCopy.addLetters`. Its children are named like `pod`'s. */
export const LETTER: Form = {
  ...pod,
  execution: "resident",
  operator: "letter",
  crd: "argosy-letters.office.example.com",
  object: (name, pages) => ({ ...pod.object(name, pages), kind: "Letter" }),
};

function reference(apiVersion: string, kind: string, name: string): Reference {
  return { apiVersion, kind, metadata: { name, namespace: session().team } };
}

/** Asserts that the child exists and carries the number. */
export async function assertChild(form: Form, name: string, count: number): Promise<KubernetesObject> {
  const child = await session().api.get(form.child(name));
  assert.equal(form.countIn(child), count);
  return child;
}

/** Waits for the object's Ready condition to have this status, for its newest generation. Gives the condition. */
export function readyIs(
  form: Form,
  name: string,
  expected: Partial<Pick<Condition, "status" | "reason">>,
  timeoutMs = 300_000,
): Promise<Condition> {
  const { kind } = form.object(name, 0);
  return waitFor(
    `${kind} ${name} to be told "${expected.reason ?? "anything"}"`,
    async () => {
      const { metadata, status } = await session().api.get(form.object(name, 0));
      const { conditions = [] } = (status ?? {}) as { conditions?: Condition[] };
      const ready = conditions.find(({ type }) => type === "Ready");
      assert.ok(ready, "it has no Ready condition");
      const { status: state, reason, observedGeneration } = ready;
      const told = { status: state, reason, observedGeneration };
      const wanted = { ...told, ...expected, observedGeneration: metadata.generation };
      assert.deepEqual(told, wanted, ready.message);
      return ready;
    },
    timeoutMs,
  );
}

/** Waits for the Kubernetes Event of an object that names this reason and this run. Gives its note. */
export function eventTells(form: Form, name: string, reason: string, run: string): Promise<string> {
  return waitFor(`an Event ${reason} that names run ${run}`, async () => {
    const { metadata } = await session().api.get(form.object(name, 0));
    const events = await session().api.list(
      { apiVersion: "events.k8s.io/v1", kind: "Event" },
      session().team,
    );
    const event = events.find(
      (each) =>
        (each["regarding"] as { uid?: string }).uid === metadata.uid &&
        each["reason"] === reason &&
        String(each["note"]).endsWith(` (run ${run})`),
    );
    assert.ok(event, `${name} has none`);
    return String(event["note"]);
  });
}

/** The Workflow that a condition names. */
export function runIn({ message }: Condition): string {
  const [, run] = / \(run ([a-z0-9-]+)\)$/.exec(message) ?? [];
  assert.ok(run, `names no run: ${message}`);
  return run;
}

/** Creates an object, and waits until it is Ready. Gives the name of the run that made its children. */
export async function createReady(form: Form, name: string, count: number): Promise<string> {
  await session().api.create(form.object(name, count));
  return runIn(await readyIs(form, name, { status: "True", reason: "Reconciled" }));
}
