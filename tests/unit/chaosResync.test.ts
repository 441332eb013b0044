import assert from "node:assert/strict";
import type { JsonObject, KubernetesObject } from "../../runtime/kubernetes/objects";
import { SuspendedResync } from "../../tools/chaos/inCluster/suspendedResync";

const CRON = "CronWorkflow";

function objectOf(kind: string, name: string, content: JsonObject = {}): KubernetesObject {
  const metadata = { name, namespace: "argosy", uid: name, resourceVersion: "1" };
  return { apiVersion: "argoproj.io/v1alpha1", kind, metadata, ...content };
}

describe("the resync that a chaos run holds back", () => {
  let happened: string[];
  /** What each look at the runs shows; the last for all further ones. */
  let looks: KubernetesObject[][];
  const running = objectOf("Workflow", "a-resync-1", { status: { phase: "Running" } });
  const over = objectOf("Workflow", "a-resync-0", { status: { phase: "Succeeded" } });

  beforeEach(() => {
    happened = [];
  });

  function resyncOf(patienceMs: number): SuspendedResync {
    return new SuspendedResync(
      {
        list: async ({ kind }) => {
          if (kind === CRON) return [objectOf(CRON, "a-resync")];
          happened.push("look");
          return (looks.length > 1 ? looks.shift() : looks[0]) ?? [];
        },
        patch: async ({ kind, metadata }, patch) => {
          happened.push(`${kind} ${metadata.name} ${JSON.stringify(patch)}`);
          return objectOf(kind, metadata.name);
        },
      },
      { patienceMs, signal: new AbortController().signal },
    );
  }

  it("is suspended, waits until no run is at work, and goes on afterwards", async () => {
    looks = [[over, running], [over]];
    const goOn = await resyncOf(60_000).hold();
    const suspended = 'CronWorkflow a-resync {"spec":{"suspend":true}}';
    assert.deepEqual(happened, [suspended, "look", "look"]);
    await goOn();
    assert.equal(happened.at(-1), 'CronWorkflow a-resync {"spec":{"suspend":null}}');
  });

  it("goes on if a run does not end", async () => {
    looks = [[running]];
    await assert.rejects(resyncOf(0).hold(), /the run a-resync-1 has not ended/);
    assert.equal(happened.at(-1), 'CronWorkflow a-resync {"spec":{"suspend":null}}');
  });
});
