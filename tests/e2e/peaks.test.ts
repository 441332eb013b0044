import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import { hasBegun, specOf, statusOf, WORKFLOWS } from "../../runtime/report/workflows";
import { assertChild, FORMS } from "./support/forms";
import { session } from "./support/hooks";
import { LONG_MS, tell, waitFor } from "./support/progress";
import { NAMESPACE } from "./support/session";

const FORM = FORMS.pod;
/** Pods at once: two cores have room for them. */
const AT_ONCE = 6;
const OBJECTS = 100;
/** Under the quota each pod that is refused is asked for again: fewer show the same. */
const UNDER_QUOTA = 20;
/** Enough that many of them still wait when the other limit comes. */
const UNDER_CHANGE = 40;
const POD = { apiVersion: "v1", kind: "Pod" };
const RUNS = `app.kubernetes.io/name=${FORM.operator},app.kubernetes.io/component=run`;

describe("heavy work at a peak", function () {
  this.timeout(LONG_MS);
  const definition = "handlers/report/operator.yaml";
  const [given, limited] = ["execution: pod\n", `execution: pod\nconcurrency: ${AT_ONCE}\n`];

  before(async () => {
    const { project, stack } = session();
    await session().up();
    project.edit(definition, given, limited);
    await stack.up();
  });
  after(async () => {
    const { project, stack } = session();
    project.edit(definition, limited, given);
    await stack.up();
  });

  it(`queues: ${OBJECTS} objects at once, ${AT_ONCE} pods, and none is lost or reported as failed`, async () => {
    const most = await handledAtOnce("peak", OBJECTS);
    assert.ok(most <= AT_ONCE, `${most} pods at once`);
    assert.ok(most > 1, "they were handled one after another");
  });

  it("waits where a ResourceQuota refuses pods, and none is lost or reported as failed", async () => {
    // Pods of Workflows end, and make room for others.
    const others = (await session().api.list(POD, NAMESPACE)).filter(
      (pod) => isAlive(pod) && !pod.metadata.ownerReferences?.some(({ kind }) => kind === "Workflow"),
    ).length;
    const quota: Manifest = {
      apiVersion: "v1",
      kind: "ResourceQuota",
      metadata: { name: "narrow", namespace: NAMESPACE },
      spec: { hard: { pods: String(others + 2) } },
    };
    await session().api.create(quota);
    try {
      const most = await handledAtOnce("quota", UNDER_QUOTA);
      // Not two at most: while another pod is replaced, a run may use its share.
      assert.ok(most < AT_ONCE, `${most} pods at once, as without a quota`);
    } finally {
      await session().api.delete(quota);
    }
  });

  it("goes on while another limit is rolled out: runs that wait keep their places, and none is lost or reported as failed", async () => {
    const { project, stack } = session();
    const narrower = limited.replace(String(AT_ONCE), String(AT_ONCE - 2));
    const runs = watchRuns();
    let absences = 0;
    const waited = new Set<string>();
    try {
      await handledAtOnce("change", UNDER_CHANGE, async () => {
        project.edit(definition, limited, narrower);
        await waitFor("a run to wait", () => assert.notDeepEqual(runs.in("waiting"), []));
        for (const uid of runs.in("waiting")) waited.add(uid);
        const limit = watchLimit();
        try {
          await stack.up();
        } finally {
          absences = await limit.stop();
        }
        const still = runs.in("waiting");
        for (const uid of still) waited.add(uid);
        tell(`${still.length} runs wait after the roll-out`);
      });
      // A child exists a moment before its run has ended.
      const succeeded = () =>
        assert.deepEqual(
          [...waited].filter((uid) => !runs.in("succeeded").includes(uid)),
          [],
        );
      await waitFor(`${waited.size} runs that waited to succeed`, succeeded, LONG_MS);
    } finally {
      runs.stop();
      project.edit(definition, narrower, limited);
    }
    // Pulumi deletes the ConfigMap of the limit before it makes the other one. In between, Argo keeps to the last limit.
    tell(`the limit was missing at ${absences} looks`);
  });
});

/**
 * Creates objects and waits until each has its child. Returns the most pods of runs that existed at once.
 * @param act called as soon as the objects exist
 */
async function handledAtOnce(
  prefix: string,
  count: number,
  act: () => Promise<unknown> = async () => {},
): Promise<number> {
  const { api, team } = session();
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index}`);
  const startedAt = performance.now();
  await Promise.all(names.map((name) => api.create(FORM.object(name, 3))));
  const pods = watchPods();
  try {
    await act();
    await waitFor(`${count} objects to be handled`, () => Promise.all(names.map(isHandled)), LONG_MS);
  } finally {
    pods.stop();
  }
  const most = await pods.most;
  tell(`${count} objects in ${Math.round((performance.now() - startedAt) / 1000)} s, ${most} pods at once`);
  const events = await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, team);
  const failed = events.filter(
    (event) =>
      event["type"] === "Warning" &&
      names.includes((event["regarding"] as { name?: string } | undefined)?.name ?? ""),
  );
  assert.deepEqual(
    failed.map((event) => event["note"]),
    [],
  );
  for (const name of names) await api.delete(FORM.object(name, 0));
  return most;
}

async function isHandled(name: string): Promise<void> {
  await assertChild(FORM, name, 3);
  const { status } = await session().api.get(FORM.object(name, 0));
  assert.equal((status as { pages?: number } | undefined)?.pages, 3);
}

/** Counts the pods of runs, until it is stopped. */
function watchPods(): { readonly most: Promise<number>; stop(): void } {
  let isOver = false;
  const count = async (): Promise<number> => {
    let most = 0;
    while (!isOver) {
      most = Math.max(most, (await session().api.list(POD, NAMESPACE, RUNS)).filter(isAlive).length);
      await pause(250);
    }
    return most;
  };
  return {
    most: count(),
    stop: () => {
      isOver = true;
    },
  };
}

/** Follows the operator's runs by their uid, until it is stopped. One that has succeeded may be deleted since. */
function watchRuns(): { in(state: "waiting" | "succeeded"): readonly string[]; stop(): void } {
  const states = new Map<string, "waiting" | "begun" | "succeeded">();
  let isOver = false;
  const look = async (): Promise<void> => {
    while (!isOver) {
      for (const run of await session().api.list(WORKFLOWS, NAMESPACE)) {
        if (specOf(run).workflowTemplateRef?.name !== FORM.operator) continue;
        const isSuccess = statusOf(run).phase === "Succeeded";
        states.set(run.metadata.uid, isSuccess ? "succeeded" : hasBegun(run) ? "begun" : "waiting");
      }
      await pause(250);
    }
  };
  const looking = look();
  // The test misses their ends, and fails.
  looking.catch((error: Error) => tell(`the runs could not be listed: ${error.message}`));
  return {
    in: (state) => [...states].filter(([, each]) => each === state).map(([uid]) => uid),
    stop: () => {
      isOver = true;
    },
  };
}

/** Counts how often the limit is missing, until it is stopped. */
function watchLimit(): { stop(): Promise<number> } {
  const metadata = { name: `${FORM.operator}-run-limit`, namespace: NAMESPACE };
  let isOver = false;
  const count = async (): Promise<number> => {
    let absences = 0;
    while (!isOver) {
      if (!(await session().api.find({ apiVersion: "v1", kind: "ConfigMap", metadata }))) absences++;
      await pause(50);
    }
    return absences;
  };
  const counted = count();
  return {
    stop: () => {
      isOver = true;
      return counted;
    },
  };
}

function isAlive({ status }: KubernetesObject): boolean {
  const { phase = "" } = status as { phase?: string };
  return phase !== "Succeeded" && phase !== "Failed";
}
