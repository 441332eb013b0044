import assert from "node:assert/strict";
import { DEFAULT_INSTALLATION, leaseNameOf } from "../../../runtime/base/names";
import { type Form, SLOW } from "./forms";
import { session } from "./hooks";
import { kubectl } from "./kubectl";
import { waitFor } from "./progress";
import { NAMESPACE } from "./session";

/** Creates an object whose handler waits in the end for {@link letGo}. Gives the pod where it does. */
export async function createSlow(form: Form, name: string): Promise<string> {
  const { metadata } = await session().api.create(form.object(name, SLOW));
  return waitFor(`${name} to be handled, slowly`, async () => {
    const pod = form.execution === "pod" ? await podOfRun(metadata.uid) : await leaderOf(form.operator);
    await inHandler(pod, "test", "-e", "/tmp/began");
    return pod;
  });
}

/** Lets every slow handler of a pod go on. */
export async function letGo(pod: string): Promise<void> {
  await inHandler(pod, "touch", "/tmp/go");
}

/** The spec of an operator's Lease. */
export async function leaseOf(operator: string): Promise<Record<string, string>> {
  const metadata = {
    name: leaseNameOf({ installation: DEFAULT_INSTALLATION, name: operator }),
    namespace: NAMESPACE,
  };
  const lease = await session().api.get({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata });
  return lease["spec"] as Record<string, string>;
}

/** The pod that leads. */
export async function leaderOf(operator: string): Promise<string> {
  const [pod = ""] = ((await leaseOf(operator))["holderIdentity"] ?? "").split("_");
  assert.ok(pod, "no pod leads");
  return pod;
}

async function podOfRun(uid: string): Promise<string> {
  const runs = await session().api.list({ apiVersion: "argoproj.io/v1alpha1", kind: "Workflow" }, NAMESPACE);
  const run = runs.find(({ metadata }) => metadata.labels?.["argosy.dev/object-uid"] === uid);
  const pods = await session().api.list({ apiVersion: "v1", kind: "Pod" }, NAMESPACE);
  const pod = pods.find(
    ({ metadata }) => metadata.labels?.["workflows.argoproj.io/workflow"] === run?.metadata.name,
  );
  assert.ok(run && pod, "no run names the object, or it has no pod yet");
  return pod.metadata.name;
}

/**
 * Runs a tool of the image in the handler's container.
 * @throws Error where it does not end with 0
 */
export function inHandler(pod: string, ...command: string[]): Promise<string> {
  return kubectl("exec", "--namespace", NAMESPACE, pod, "--container", "handler", "--", ...command);
}
