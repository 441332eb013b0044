import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Reference } from "../../tools/objects";
import { session } from "./support/hooks";
import type { Installation } from "./support/installation";
import { kubectl, needKubectl, withPort } from "./support/kubectl";
import { LONG_MS, waitFor } from "./support/progress";
import { nodePod } from "./support/reach";
import { NAMESPACE } from "./support/session";
import { createVolumes, deleteVolumes } from "./support/volumes";

const STAND_IN = path.resolve(__dirname, "../support/github.mjs");
const REPOSITORY = "example/shop";
const WEBHOOK_SECRET = "the secret of the webhook";
/** Each gets a volume, where no storage class makes volumes. */
const VOLUMES = 2;
const DEPLOYS = "deploys";

/** The examples that are whole, with Argo's own bus, source and sensor. GitHub is a stand-in in a pod. */
describe("the whole examples", function () {
  this.timeout(LONG_MS);
  let installation: Installation;

  before(async function () {
    needKubectl(this);
    const { team, api } = session();
    installation = await session().anotherInstallation("examples", {
      examples: [
        "database",
        ...["announce", "command", "environment", "shared"].map((each) => `deploy-notifier/${each}`),
      ],
      settings: { outsideEventsStorage: "128Mi" },
    });
    const { project } = installation;
    const real = "https://api.github.com";
    for (const operator of ["announce", "environment"])
      project.edit(`handlers/${operator}/operator.yaml`, real, `http://github.${team}.svc:8080`);
    // By it Argo would make the hooks at GitHub itself.
    project.edit(
      "handlers/command/operator.yaml",
      "      apiToken: { name: deploy-notifier, key: github-token }\n",
      "",
    );
    // Each minute, so that the test need not wait for a morning.
    project.edit("handlers/environment/operator.yaml", '"0 6 * * *"', '"* * * * *"');
    await createVolumes(VOLUMES);
    await session().createNamespace(DEPLOYS);
    await startGithub();
    const up = installation.up();
    up.catch(() => {});
    // The operators' pods wait for it.
    await waitFor(
      "the namespace of the operators",
      () => api.get(reference("v1", "Namespace", NAMESPACE)),
      LONG_MS,
    );
    await api.create({
      ...reference("v1", "Secret", "deploy-notifier", NAMESPACE),
      stringData: { "github-token": "token", "webhook-secret": WEBHOOK_SECRET },
    });
    await up;
  });

  after(async () => {
    await installation?.takeDown();
    await session().deleteNamespace(DEPLOYS);
    await deleteVolumes(VOLUMES);
  });

  describe("deploy-notifier", () => {
    it("makes one command of a comment that comes twice and again, and sets the Environment", async () => {
      const { api } = session();
      await api.create({
        ...reference("deploys.example.com/v1", "Environment", "stage", DEPLOYS),
        spec: { repository: REPOSITORY, reportIssue: 9 },
      });
      const comment = payload(77, "/deploy stage", "MEMBER");
      await waitFor(
        "the source to take events",
        async () => assert.equal(await deliver(comment), 200),
        300_000,
      );
      assert.equal(await deliver(comment), 200);
      await waitFor("the Environment to be set", async () => {
        const { spec } = await api.get(reference("deploys.example.com/v1", "Environment", "stage", DEPLOYS));
        assert.equal((spec as { deploy?: { pullRequest: number } }).deploy?.pullRequest, 4);
      });
      await deliver(comment);
      assert.equal((await commands()).length, 1);
    });

    it("takes no comment of strangers, and none with a wrong signature", async () => {
      assert.equal(await deliver(payload(78, "/deploy stage", "NONE")), 200);
      assert.notEqual(await deliver(payload(79, "/deploy stage", "MEMBER"), "another secret"), 200);
      const last = payload(80, "Looks good.", "MEMBER");
      await deliver(last);
      await waitFor("the last comment", async () => assert.equal((await commands()).length, 2));
    });

    it("loses no command while bus, source, sensor and intake are killed", async () => {
      const before = (await commands()).length;
      const labels = [
        "eventbus-name=argosy-outside",
        "owner-name=argosy-outside",
        "app.kubernetes.io/component=intake",
      ];
      let acknowledged = 0;
      for (let round = 0; round < 12; round++) {
        const label = labels[round % labels.length] ?? "";
        if (round % 2 === 0)
          await kubectl("delete", "pod", "--wait=false", "--namespace", NAMESPACE, "--selector", label);
        for (let each = 0; each < 5; each++) {
          const code = await deliver(payload(1000 + round * 5 + each, "Looks good.", "MEMBER")).catch(
            () => 0,
          );
          if (code === 200) acknowledged++;
        }
      }
      assert.ok(acknowledged > 0);
      await waitFor(
        `${acknowledged} acknowledged comments`,
        async () =>
          assert.ok((await commands()).length >= before + acknowledged, `${(await commands()).length}`),
        300_000,
      );
    });

    it("comments once on the pull request of what is rolled out, no matter who is killed", async () => {
      const { api } = session();
      const deployment = announced("shop", "aaaaaaa");
      await api.create(deployment);
      await waitFor("the comment", async () => assert.equal((await comments(1)).length, 1), 300_000);
      await kubectl(
        "delete",
        "pod",
        "--namespace",
        NAMESPACE,
        "--selector",
        "app.kubernetes.io/name=announce",
      );
      await api.annotate(deployment, { touched: "1" });
      await api.patch(deployment, {
        metadata: { annotations: { "deploy-notifier.example.com/commit": "bbbbbbb" } },
      });
      await waitFor("the second comment", async () => assert.equal((await comments(2)).length, 1), 300_000);
      assert.equal((await comments(1)).length, 1);
    });

    it("reports when the clock says so", async () => {
      await waitFor(
        "a report",
        async () => assert.match((await comments(9))[0]?.body ?? "", /is deployed in \*\*stage/),
        180_000,
      );
    });
  });

  describe("database", () => {
    const database = (): Manifest => ({
      ...reference("data.example.com/v1", "Database", "orders"),
      spec: {
        credentialsSecret: "orders",
        migrations: ["CREATE TABLE orders (id INTEGER PRIMARY KEY)"],
        storage: "128Mi",
      },
    });

    it("waits for its Secret, migrates before its pod begins, and becomes ready", async () => {
      const { api } = session();
      await api.create(database());
      await readyIs(database(), "False");
      await api.create({
        ...reference("v1", "Secret", "orders"),
        metadata: {
          ...reference("v1", "Secret", "orders").metadata,
          labels: { "argosy.dev/used-by": "argosy.database" },
        },
        stringData: { password: "secret-1" },
      });
      await readyIs(database(), "True");
      assert.deepEqual(await query("secret-1", "SELECT count(*) FROM orders"), [[0]]);
    });

    it("rolls its pod when the password changes", async () => {
      await session().api.patch(reference("v1", "Secret", "orders"), {
        stringData: { password: "secret-2" },
      });
      await waitFor("the new password", async () => assert.ok(await query("secret-2", "SELECT 1")), 300_000);
      await assert.rejects(query("secret-1", "SELECT 1"));
    });

    it("carries out a statement that is added", async () => {
      const migrations = [
        "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
        "ALTER TABLE orders ADD COLUMN at TEXT",
      ];
      await session().api.patch(database(), { spec: { migrations } });
      await waitFor(
        "the column",
        async () => assert.ok(await query("secret-2", "SELECT at FROM orders")),
        300_000,
      );
      await readyIs(database(), "True");
      await session().api.delete(database());
      await waitFor("its children to go", () =>
        session().api.assertGone(reference("apps/v1", "StatefulSet", "orders")),
      );
    });
  });
});

function reference(
  apiVersion: string,
  kind: string,
  name: string,
  namespace = session().team,
): Reference & Manifest {
  return { apiVersion, kind, metadata: kind === "Namespace" ? { name } : { name, namespace } };
}

async function startGithub(): Promise<void> {
  const { api, team } = session();
  const data = { "github.mjs": readFileSync(STAND_IN, "utf8") };
  await api.create({ ...reference("v1", "ConfigMap", "github"), data });
  const program = 'import("/github/github.mjs")';
  const pod = nodePod({ namespace: team, labels: { app: "github" } }, [program], "github");
  const [container] = pod.spec.containers;
  await api.create({
    ...pod,
    spec: {
      ...pod.spec,
      volumes: [{ name: "github", configMap: { name: "github" } }],
      containers: [
        {
          ...container,
          env: [{ name: "PORT", value: "8080" }],
          volumeMounts: [{ name: "github", mountPath: "/github" }],
        },
      ],
    },
  });
  await api.create({
    ...reference("v1", "Service", "github"),
    spec: { selector: { app: "github" }, ports: [{ port: 8080 }] },
  });
  await waitFor("the stand-in of GitHub", () =>
    github("repository", {
      name: REPOSITORY,
      commits: [
        { sha: "aaaaaaa", pull: 1 },
        { sha: "bbbbbbb", pull: 2 },
      ],
    }),
  );
}

interface StandIn {
  readonly comments: Readonly<Record<string, readonly { readonly body: string }[]>>;
  readonly status: number;
}

function github(what: string, body: unknown = {}): Promise<StandIn> {
  return withPort(session().team, "github", 8080, async (port) => {
    const init = { method: "POST", body: JSON.stringify(body) };
    return (await fetch(`http://127.0.0.1:${port}/stand-in/${what}`, init)).json() as Promise<StandIn>;
  });
}

async function comments(number: number) {
  return (await github("comments")).comments[`${REPOSITORY}#${number}`] ?? [];
}

/** Has the stand-in deliver an event. @returns the status of Argo's answer */
async function deliver(content: object, secret = WEBHOOK_SECRET): Promise<number> {
  const url = `http://argosy-outside-eventsource-svc.${NAMESPACE}.svc:12000/deploy`;
  return (await github("webhook", { url, secret, event: "issue_comment", delivery: "1", payload: content }))
    .status;
}

function payload(id: number, body: string, author_association: string) {
  const user = { login: "ada" };
  const comment = { id, body, author_association, user, created_at: "2026-11-22T10:00:00Z" };
  return { action: "created", repository: { full_name: REPOSITORY }, issue: { number: 4 }, comment };
}

function commands(): Promise<KubernetesObject[]> {
  return session().api.list({ apiVersion: "deploys.example.com/v1", kind: "DeployCommand" }, DEPLOYS);
}

function announced(name: string, commit: string): Manifest {
  const pod = nodePod({}, ["setInterval(() => {}, 1000)"], name);
  const { restartPolicy: _, ...spec } = pod.spec;
  const labels = { app: name };
  return {
    ...reference("apps/v1", "Deployment", name),
    metadata: {
      ...reference("apps/v1", "Deployment", name).metadata,
      labels: { "deploy-notifier.example.com/announce": "true" },
      annotations: {
        "deploy-notifier.example.com/repository": REPOSITORY,
        "deploy-notifier.example.com/commit": commit,
      },
    },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

function readyIs(object: Reference, status: string): Promise<void> {
  return waitFor(
    `${object.metadata.name} to be Ready=${status}`,
    async () => {
      const found = (await session().api.get(object))["status"] as {
        conditions?: { type: string; status: string }[];
      };
      assert.equal(found?.conditions?.find(({ type }) => type === "Ready")?.status, status);
    },
    300_000,
  );
}

function query(password: string, statement: string): Promise<unknown> {
  return withPort(session().team, "orders", 80, async (port) => {
    const headers = { authorization: `Bearer ${password}` };
    const response = await fetch(`http://127.0.0.1:${port}/`, {
      method: "POST",
      headers,
      body: JSON.stringify([statement]),
    });
    assert.equal(response.status, 200);
    return ((await response.json()) as { rows: unknown }).rows;
  });
}
