import assert from "node:assert/strict";
import { createReady, FORMS } from "./support/forms";
import { session } from "./support/hooks";
import { getJson, needKubectl, withPort } from "./support/kubectl";
import { CONTROLLER_NAMESPACE, NAMESPACE } from "./support/session";

const PORT = 2746;
/** What the UI lists, and one thing that must be there. */
const LISTS = [
  [`workflow-templates/${NAMESPACE}`, "memcached"],
  [`cron-workflows/${NAMESPACE}`, "report-resync"],
  [`event-sources/${NAMESPACE}`, "argosy"],
  [`sensors/${NAMESPACE}`, "argosy"],
] as const;

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

describe("argo-server", () => {
  let token = "";
  before(async () => {
    await session().up();
    const account = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/argosy-viewer/token`;
    const spec = { expirationSeconds: 3600 };
    const answer = await session().api.post<{ status: { token: string } }>(account, { spec });
    token = answer.status.token;
  });

  it("shows a viewer the runs, templates, event source and sensor", async function () {
    needKubectl(this);
    const run = await createReady(FORMS.resident, "viewed", 1);
    await withPort(CONTROLLER_NAMESPACE, "argo-server", PORT, async (port) => {
      for (const [path, name] of [[`workflows/${NAMESPACE}`, run] as const, ...LISTS]) {
        const { code, body } = await getJson<List>(`https://127.0.0.1:${port}/api/v1/${path}`, token);
        assert.equal(code, 200, path);
        const names = body.items.map(({ metadata }) => metadata.name);
        assert.ok(names.includes(name), `${path} has ${names.join(", ")}, not ${name}`);
      }
    });
  });

  it("shows nothing to who has no token", async function () {
    needKubectl(this);
    await withPort(CONTROLLER_NAMESPACE, "argo-server", PORT, async (port) => {
      const { code } = await getJson(`https://127.0.0.1:${port}/api/v1/workflows/${NAMESPACE}`, "nobody");
      assert.equal(code, 401);
    });
  });
});
