import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { KubernetesClient } from "../../../runtime/kubernetes/client";
import { builtIn } from "../../../runtime/kubernetes/discovery";
import { isApiError } from "../../../runtime/kubernetes/errors";
import { eventually } from "../../support/eventually";
import { answering, useOperator } from "../support/useOperator";

const PASSWORD = "correct-horse-battery";
const ENCODED = Buffer.from(PASSWORD).toString("base64");
const SECRETS = builtIn("v1", "Secret");

function secret(
  name: string,
  namespace: string,
  labels: Record<string, string> = {},
  type = "Opaque",
): Manifest {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace, labels },
    type,
    data: { password: ENCODED },
  };
}

/** Anyone who may create a custom resource names Secrets in it. He may not read them himself. */
for (const { form, namespaces } of [
  { form: "in all namespaces", namespaces: undefined },
  { form: "in one namespace", namespaces: ["enemy-place"] },
]) {
  const name = namespaces ? "enemy-one" : "enemy-all";
  const usedBy = { "argosy.dev/used-by": `argosy.${name}` };

  describe(`an author of custom resources ${form} who may read no Secret`, function () {
    this.timeout(60_000);
    const bench = useOperator(
      {
        name,
        ...(namespaces && { namespaces }),
        uses: {
          credentials: { apiVersion: "v1", kind: "Secret", name: "spec.secret" },
          listed: { apiVersion: "v1", kind: "Secret", name: "'listed'" },
          restricted: { apiVersion: "v1", kind: "Secret", name: "spec.restricted", names: ["one", "two"] },
        },
      },
      { usedPollMs: 300 },
    );
    let home: string;
    beforeEach(() => {
      home = namespaces?.[0] ?? bench.namespace;
    });
    const apply = async (object: string, spec: object) =>
      bench.ready(await bench.applyObject(object, { ...answering(), ...spec } as never, home));
    const given = (object: string, key = "credentials") => bench.operator.calls(object).at(-1)?.used[key];
    const isGiven = (object: string, key?: string) => eventually(() => assert.ok(given(object, key)));
    const isTaken = (object: string, key?: string) =>
      eventually(() => assert.equal(given(object, key), null));

    it("gets none by naming it, and learns nothing of which there are", async () => {
      await bench.api.apply(secret("there", home));
      const [there, absent] = [
        await apply("names-there", { secret: "there" }),
        await apply("names-absent", { secret: "absent" }),
      ];
      assert.deepEqual([given("names-there"), given("names-absent")], [null, null]);
      const notes = await eventually(async () => {
        const events = (await Promise.all([there, absent].map((each) => bench.eventsOf(each)))).flat();
        const told = events
          .map(({ note }) => note)
          .filter((note) => note.startsWith("uses.credentials: this operator was not given the Secret"));
        assert.equal(told.length, 2);
        return told;
      });
      assert.match(
        notes.join(),
        new RegExp(`kubectl -n .* label secret there argosy.dev/used-by=argosy.${name}\\.`),
      );
      const [one, other] = notes.map((note) => note.replaceAll(/\b(there|absent)\b/g, "X"));
      assert.equal(one, other);
    });

    it("gets one that says that this operator may use it, until it no longer says so", async () => {
      await bench.api.apply(secret("labelled", home, usedBy));
      await apply("label", { secret: "labelled" });
      await isGiven("label");
      await bench.api.apply(secret("labelled", home, { "argosy.dev/used-by": "argosy.another" }));
      await isTaken("label");
      await bench.api.apply(secret("labelled", home, usedBy));
      await isGiven("label");
    });

    it("gets one that the definition lists, and of a list no other", async () => {
      for (const each of ["listed", "one", "three"]) await bench.api.apply(secret(each, home));
      await apply("lists", { restricted: "one" });
      await isGiven("lists", "listed");
      await isGiven("lists", "restricted");
      await apply("lists-other", { restricted: "three" });
      assert.equal(given("lists-other", "restricted"), null);
    });

    it("gets none of another namespace, by whatever name", async () => {
      const other = await bench.api.newNamespace("enemy-other");
      await bench.api.apply(secret("far", other, usedBy));
      for (const [index, named] of [
        `${other}/far`,
        "../far",
        `../../${other}/secrets/far`,
        "far%2f",
        "..",
      ].entries()) {
        await apply(`far-${index}`, { secret: named });
        assert.equal(given(`far-${index}`), null, named);
      }
      await apply("far", { secret: "far" });
      assert.equal(given("far"), null);
    });

    it("the operator itself may list no Secret but those that its definition names", async () => {
      const client = new KubernetesClient(bench.operator.connection);
      const isRefused = (selection: object) =>
        assert.rejects(
          client.list(SECRETS, selection, () => {}),
          (error) => isApiError(error, 403),
        );
      await isRefused({});
      await isRefused({ namespace: "kube-system" });
      if (!namespaces) await isRefused({ namespace: home });
      await client.list(SECRETS, { namespace: home, fieldSelector: "metadata.name=listed" }, () => {});
      client.close();
    });

    // What comes is the same wherever the operator works.
    if (namespaces) return;

    it("gets no keys to the cluster, whatever they say", async () => {
      const types = ["bootstrap.kubernetes.io/token", "helm.sh/release.v1"];
      for (const [index, type] of types.entries()) {
        await bench.api.apply(secret(`key-${index}`, home, usedBy, type));
        await apply(`wants-${index}`, { secret: `key-${index}` });
        assert.equal(given(`wants-${index}`), null, type);
      }
      await bench.api.apply({
        apiVersion: "v1",
        kind: "ServiceAccount",
        metadata: { name: "robot", namespace: home },
      });
      const token = secret("robot-token", home, usedBy, "kubernetes.io/service-account-token");
      const { data: _, ...rest } = token;
      const annotations = { "kubernetes.io/service-account.name": "robot" };
      await bench.api.apply({ ...rest, metadata: { ...rest.metadata, annotations } } as Manifest);
      await apply("wants-token", { secret: "robot-token" });
      assert.equal(given("wants-token"), null);
    });

    it("reads none by a trial, which is given what it uses", async () => {
      await bench.api.apply(secret("listed", home));
      const { controller } = bench.engine;
      const example = (trial: string) => bench.operator.object(trial, answering(), home);
      await controller.tryHandler(example("trial"));
      assert.deepEqual(bench.operator.calls("trial").at(-1)?.used, {
        credentials: null,
        listed: null,
        restricted: null,
      });
      await controller.tryHandler(example("trial-used"), { listed: { data: { password: "eA==" } } });
      assert.deepEqual(given("trial-used", "listed"), { data: { password: "eA==" } });
      await assert.rejects(
        controller.tryHandler(example("trial-wrong"), { other: {} }),
        /used\.other is not in/,
      );
    });

    it("finds no value in log, condition and Event, though the handler reports it", async () => {
      await bench.api.apply(secret("told", home, usedBy));
      const spec = {
        secret: "told",
        log: `logging in with ${PASSWORD} (${ENCODED})`,
        answer: { error: { message: `${PASSWORD} was refused` } },
      };
      const object = await bench.applyObject("tells", spec as never, home);
      await eventually(() => assert.ok(given("tells")));
      const { message } = await bench.failed(object, "HandlerError");
      assert.equal(message, "*** was refused");
      const reports = bench.engine.reportsOf("tells");
      assert.ok(reports.some(({ log }) => log.includes("logging in with *** (***)")));
      await eventually(async () => assert.ok((await bench.eventsOf(object)).length > 0));
      const all = JSON.stringify([
        reports,
        await bench.eventsOf(object),
        (await bench.api.get(object))["status"],
      ]);
      assert.ok(!all.includes(PASSWORD) && !all.includes(ENCODED), all);
    });
  });
}
