import assert from "node:assert/strict";
import { isApiError } from "../../runtime/kubernetes/errors";
import { namespace } from "../integration/support/manifests";
import { type PrivilegedUser, privilegedUser } from "./support/accounts";
import { assertChild, createReady, FORMS, readyIs } from "./support/forms";
import { session } from "./support/hooks";
import { waitFor } from "./support/progress";

const READY = { status: "True", reason: "Reconciled" } as const;
const AGAIN = "argosy.dev/reconcile-at";

/** The controllers of Kubernetes, a kubelet and Argo are at work here: tests/integration/guards.test.ts has none of them. */
describe("with guards", () => {
  let stranger: PrivilegedUser | undefined;
  let operations: PrivilegedUser | undefined;
  let people = "";

  before(async () => {
    const { api, team } = session();
    people = `${team}-people`;
    const settings = {
      guards: { children: true, annotations: { groups: [`system:serviceaccounts:${people}`] } },
    };
    const installation = await session().anotherInstallation("guards", { settings });
    await installation.up();
    await api.create(namespace(people));
    stranger = await privilegedUser(team, "stranger");
    operations = await privilegedUser(people, "operations");
  });

  after(async () => {
    await stranger?.leave();
    await operations?.leave();
    await session().api.delete(namespace(people));
  });

  for (const form of Object.values(FORMS)) {
    describe(`an operator of the form "${form.execution}"`, () => {
      it("makes its objects Ready, and follows their changes", async () => {
        await createReady(form, "guarded", 1);
        await session().api.patch(form.object("guarded", 0), {
          spec: form.object("guarded", 2)["spec"] as object as never,
        });
        await readyIs(form, "guarded", READY);
        await assertChild(form, "guarded", 2);
      });

      it("keeps its children from an account with every right", async () => {
        const { api } = known(stranger);
        // A policy is in force a moment after it was written.
        const message = await waitFor("the guard", () =>
          refused(() => api.patch(form.child("guarded"), form.content(7))),
        );
        assert.match(
          message,
          new RegExp(`stranger may not update .* a child of the operator argosy.${form.operator}`),
        );
        assert.match(await refused(() => api.delete(form.child("guarded"))), /stranger may not delete /);
        await assertChild(form, "guarded", 2);
      });

      it("has its annotations set by the named group alone", async () => {
        const object = form.object("guarded", 0);
        const ask = ({ api }: PrivilegedUser) => api.annotate(object, { [AGAIN]: new Date().toISOString() });
        const message = await waitFor("the guard", () => refused(() => ask(known(stranger))));
        assert.match(message, /stranger may not update .* with changed argosy\.dev annotations/);
        await ask(known(operations));
        // No guard covers the annotations of others.
        await known(stranger).api.annotate(object, { "example.com/note": "mine" });
        await readyIs(form, "guarded", READY);
      });

      it("loses its children to the garbage collector when their object goes", async () => {
        await known(stranger).api.delete(form.object("guarded", 0));
        await waitFor("its child to go", () => session().api.assertGone(form.child("guarded")), 180_000);
      });

      it("loses objects and children to the deletion of a namespace", async () => {
        const { api, team } = session();
        const doomed = `${team}-${form.execution}`;
        const moved = <Named extends { readonly metadata: object }>(named: Named) => ({
          ...named,
          metadata: { ...named.metadata, namespace: doomed },
        });
        await api.create(namespace(doomed));
        await api.create(moved(form.object("doomed", 1)));
        const child = moved(form.child("doomed"));
        await waitFor("its child", () => api.get(child));
        await known(stranger).api.delete(namespace(doomed));
        await waitFor("the namespace to go", () => api.assertGone(namespace(doomed)), 180_000);
      });
    });
  }
});

function known(account: PrivilegedUser | undefined): PrivilegedUser {
  assert.ok(account);
  return account;
}

/** Asserts that a guard refuses something. Gives what it says. */
async function refused(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
  } catch (error) {
    if (!isApiError(error, 403)) throw error;
    assert.match(error.message, /ValidatingAdmissionPolicy/);
    return error.message;
  }
  assert.fail("it was not refused");
}
