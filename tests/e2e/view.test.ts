import assert from "node:assert/strict";
import { assertChild, createReady, FORMS } from "./support/forms";
import { session } from "./support/hooks";
import { askJson, needKubectl, withPort } from "./support/kubectl";
import { CONTROLLER_NAMESPACE, NAMESPACE } from "./support/session";
import { succeeds } from "./support/workflows";

const PORT = 2746;
/** What the UI lists, and one entry that it must contain. */
const LISTS = [
  [`workflow-templates/${NAMESPACE}`, "memcached"],
  [`event-sources/${NAMESPACE}`, "argosy"],
  [`sensors/${NAMESPACE}`, "argosy"],
] as const;

interface List {
  readonly items: readonly { readonly metadata: { readonly name: string } }[];
}

/** A token of one of the accounts for people. */
async function tokenOf(account: string): Promise<string> {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${account}/token`;
  const answer = await session().api.post<{ status: { token: string } }>(path, {
    spec: { expirationSeconds: 3600 },
  });
  return answer.status.token;
}

describe("argo-server", () => {
  let token = "";
  before(async () => {
    await session().up();
    token = await tokenOf("argosy-viewer");
  });

  it("shows a viewer the runs, templates, event source and sensor", async function () {
    needKubectl(this);
    const run = await createReady(FORMS.resident, "viewed", 1);
    await withPort(CONTROLLER_NAMESPACE, "argo-server", PORT, async (port) => {
      for (const [path, name] of [[`workflows/${NAMESPACE}`, run] as const, ...LISTS]) {
        const { code, body } = await askJson<List>(`https://127.0.0.1:${port}/api/v1/${path}`, token);
        assert.equal(code, 200, path);
        const names = body.items.map(({ metadata }) => metadata.name);
        assert.ok(names.includes(name), `${path} has ${names.join(", ")}, not ${name}`);
      }
    });
  });

  it("shows nothing to anyone without a token", async function () {
    needKubectl(this);
    await withPort(CONTROLLER_NAMESPACE, "argo-server", PORT, async (port) => {
      const { code } = await askJson(`https://127.0.0.1:${port}/api/v1/workflows/${NAMESPACE}`, "no-token");
      assert.equal(code, 401);
    });
  });

  for (const form of Object.values(FORMS)) {
    it(`runs a template and a run once more for a submitter, as the UI asks it to, in the form "${form.execution}"`, async function () {
      needKubectl(this);
      await createReady(form, "submitted", 1);
      const submitter = await tokenOf("argosy-submitter");
      await withPort(CONTROLLER_NAMESPACE, "argo-server", PORT, async (port) => {
        const runs = `https://127.0.0.1:${port}/api/v1/workflows/${NAMESPACE}`;
        const parameters = [`namespace=${session().team}`, "name=submitted"];
        const submission = {
          resourceKind: "WorkflowTemplate",
          resourceName: form.operator,
          submitOptions: { parameters },
        };
        const submit = (who: string) =>
          askJson<Submitted>(`${runs}/submit`, who, { method: "POST", body: submission });
        assert.equal((await submit(token)).code, 403, "a viewer may submit");
        await session().api.patch(form.child("submitted"), form.content(3));
        const run = nameOf(await submit(submitter));
        await succeeds(run);
        await assertChild(form, "submitted", 1);

        await session().api.patch(form.child("submitted"), form.content(3));
        const again = await askJson<Submitted>(`${runs}/${run}/resubmit`, submitter, {
          method: "PUT",
          body: {},
        });
        await succeeds(nameOf(again));
        await assertChild(form, "submitted", 1);
      });
    });
  }
});

interface Submitted {
  readonly metadata?: { readonly name: string };
  readonly message?: string;
}

function nameOf({ code, body }: { code: number; body: Submitted }): string {
  assert.equal(code, 200, body.message);
  assert.ok(body.metadata);
  return body.metadata.name;
}
