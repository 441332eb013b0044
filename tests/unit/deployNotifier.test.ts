import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { localHandler } from "../../cli/handler/localHandler";
import { loadOperator } from "../../definition/loadOperator";
import type { JsonObject } from "../../runtime/base/objects";
import { type HandlerQuestion, questionAbout, type ReconcileAnswer } from "../../runtime/handler/contract";
import { HandlerPool } from "../../runtime/handler/handlerPool";
import { askHandler } from "../../runtime/reconcile/ask";
import { failureOf } from "./support/failures";

const EXAMPLE = path.resolve(__dirname, "../../examples/deploy-notifier");
const STAND_IN = path.resolve(__dirname, "../support/github.mjs");
const REPOSITORY = "example/shop";
/** Five commits; the third came without a pull request, and two came with the same one. */
const COMMITS = [
  { sha: "aaaaaaa", pull: 1 },
  { sha: "bbbbbbb", pull: 2 },
  { sha: "ccccccc" },
  { sha: "ddddddd", pull: 4 },
  { sha: "eeeeeee", pull: 4 },
];

describe("the example deploy-notifier", function () {
  this.timeout(60_000);
  let github: ChildProcess;
  let address: string;
  let pool: HandlerPool | undefined;
  let isOurs: boolean;

  before(async () => {
    github = spawn(process.execPath, [STAND_IN], { stdio: ["ignore", "pipe", "inherit"] });
    assert.ok(github.stdout);
    const [port] = await once(github.stdout, "data");
    address = `http://127.0.0.1:${String(port).trim()}`;
  });
  // It has no comments then.
  beforeEach(() => tell("repository", { name: REPOSITORY, commits: COMMITS }));
  afterEach(() => tell("faults", []));
  after(async () => {
    await pool?.close();
    github.kill();
  });

  async function tell(
    what: string,
    body?: unknown,
  ): Promise<{ comments: Record<string, { body: string }[]> }> {
    const init = { method: "POST", body: JSON.stringify(body ?? {}) };
    return (await fetch(`${address}/stand-in/${what}`, init)).json() as never;
  }
  /** How many comments each pull request or issue has. */
  async function commented(): Promise<Record<string, number>> {
    const { comments } = await tell("comments");
    return Object.fromEntries(Object.entries(comments).map(([where, all]) => [where, all.length]));
  }

  /** Starts the handler of an operator. As in a cluster, one process answers one question after the other. */
  async function start(operator: string, env: Readonly<Record<string, string>> = {}): Promise<void> {
    await pool?.close();
    const loaded = loadOperator(path.join(EXAMPLE, operator));
    isOurs = loaded.watch === undefined;
    const variables = { ...loaded.env, GITHUB_API: address, GITHUB_TOKEN: "token", ...env };
    pool = new HandlerPool({ transport: localHandler(loaded, variables), timeoutMs: 20_000 });
  }
  async function ask(question: HandlerQuestion): Promise<ReconcileAnswer> {
    assert.ok(pool);
    return (await askHandler<ReconcileAnswer>(pool, question, () => undefined, isOurs)).answer;
  }

  describe("announces what went live", () => {
    const announce = (commit: string, live?: string, ready = 2) =>
      ask({
        ...questionAbout({ event: "reconcile", object: deployment(commit, ready), children: [], attempt: 1 }),
        ...(live !== undefined && { state: { live } }),
      });

    before(() => start("announce"));

    it("once on the pull request of a commit, however often it is asked", async () => {
      const first = await announce("aaaaaaa");
      assert.deepEqual(first.state, { live: "aaaaaaa" });
      // What it remembered is lost: it was killed before the engine wrote that.
      await announce("aaaaaaa");
      await announce("aaaaaaa", "aaaaaaa");
      assert.deepEqual(await commented(), { [`${REPOSITORY}#1`]: 1 });
    });

    it("on every pull request since what was live before, page after page", async () => {
      await announce("eeeeeee", "aaaaaaa");
      assert.deepEqual(await commented(), { [`${REPOSITORY}#2`]: 1, [`${REPOSITORY}#4`]: 1 });
    });

    it("not again after a rollback and back", async () => {
      await announce("bbbbbbb", "aaaaaaa");
      await announce("aaaaaaa", "bbbbbbb");
      await announce("bbbbbbb", "aaaaaaa");
      assert.deepEqual(await commented(), { [`${REPOSITORY}#2`]: 1 });
    });

    it("only when its pods are ready", async () => {
      const { state } = await announce("aaaaaaa", undefined, 1);
      assert.deepEqual(state, {});
      assert.deepEqual(await commented(), {});
    });

    it("once although GitHub hung up after it stored the comment", async () => {
      await tell("faults", [{ method: "POST", hangUp: true }]);
      await failureOf(() => announce("aaaaaaa"));
      await announce("aaaaaaa");
      assert.deepEqual(await commented(), { [`${REPOSITORY}#1`]: 1 });
    });

    it("later if GitHub says so", async () => {
      await tell("faults", [{ method: "GET", status: 429, headers: { "retry-after": "17" } }]);
      const failure = await failureOf(() => announce("aaaaaaa"));
      assert.equal(failure.retryAfterSeconds, 17);
    });

    it("in each environment", async () => {
      await announce("aaaaaaa");
      await start("announce", { ENVIRONMENT: "stage" });
      await announce("aaaaaaa");
      assert.deepEqual(await commented(), { [`${REPOSITORY}#1`]: 2 });
      await start("announce");
    });

    it("nothing if the answer is only looked at, and nothing for annotations that are no commit", async () => {
      const object = deployment("aaaaaaa", 2);
      await ask(questionAbout({ event: "reconcile", object, children: [], attempt: 1, dryRun: true }));
      await announce("../../../user");
      assert.deepEqual(await commented(), {});
    });
  });

  it("reports on an environment once a night", async () => {
    await start("environment");
    const question = questionAbout({ event: "reconcile", object: environment(), children: [], attempt: 1 });
    const nightly = (at: string) => ({ ...question, due: [{ name: "nightly", at }] });
    assert.equal((await ask(nightly("2026-11-23T05:00:00Z"))).status?.["reportedAt"], "2026-11-23T05:00:00Z");
    await ask(nightly("2026-11-23T05:00:00Z"));
    await ask(question);
    await ask(nightly("2026-11-24T05:00:00Z"));
    assert.deepEqual(await commented(), { [`${REPOSITORY}#9`]: 2 });
  });
});

function deployment(commit: string, ready: number) {
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      ...identity("shop"),
      annotations: {
        "deploy-notifier.example.com/repository": REPOSITORY,
        "deploy-notifier.example.com/commit": commit,
      },
    },
    spec: { replicas: 2, template: { spec: { containers: [{ name: "shop", image: `shop:${commit}` }] } } },
    status: { observedGeneration: 3, replicas: 2, updatedReplicas: 2, availableReplicas: ready },
  };
}

function environment() {
  const deploy: JsonObject = { pullRequest: 4, author: "ada", at: "2026-11-22T10:00:00Z" };
  return {
    apiVersion: "deploys.example.com/v1",
    kind: "Environment",
    metadata: identity("stage"),
    spec: { repository: REPOSITORY, reportIssue: 9, deploy },
  };
}

function identity(name: string) {
  return { name, namespace: "shop", uid: "1b5c7e9a", resourceVersion: "1", generation: 3 };
}
