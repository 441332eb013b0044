import assert from "node:assert/strict";
import { ObjectGoneError, ReconcileFailure } from "../../runtime/base/failure";
import type { KubernetesObject } from "../../runtime/base/objects";
import { ApiError, ApiUnreachableError, apiErrorOf, isBusy } from "../../runtime/kubernetes/errors";
import { consequenceOf } from "../../runtime/reconcile/errors";
import { failureOf } from "./support/failures";
import { retain } from "./support/fakeChildren";
import { CONFIG_MAPS } from "./support/objects";
import { APPLY, DELETE, desired, NAME, SECRET, WriterBench } from "./support/writerBench";

describe("ChildWriter, when the API server refuses", () => {
  let bench: WriterBench;
  beforeEach(() => {
    bench = new WriterBench();
  });

  /** What the API server answers where a namespace is wholly gone. */
  function missing(name: string): ApiError {
    const message = `namespaces "${name}" not found`;
    const details = { kind: "namespaces", name };
    return new ApiError(404, { kind: "Status", reason: "NotFound", message, details }, "PATCH");
  }

  describe("says of what the API server refuses", () => {
    const refused = (code: number, message: string, more: object = {}) => {
      bench.cluster.refusals.set(APPLY, new ApiError(code, { message, ...more }, "PATCH"));
      return failureOf(bench.apply());
    };

    const mayChange = /Declare update: recreate or never for ConfigMap in operator\.yaml/;
    const noRight = 'User "runner" cannot patch resource "configmaps"';
    const noString =
      "failed to create typed patch object (shop/settings; /v1, Kind=ConfigMap): .data.size: expected string, got &value.valueUnstructured{Value:1}";
    const noBase64 =
      "failed to convert new object: error decoding from json: illegal base64 data at input byte 8";
    const noPath = /serves no kind ConfigMap \(v1\), .*another scope or plural, the next resync/;
    const unfound = "the server could not find the requested resource";
    const tooLarge = /(is too large|limit is 3145728)\. Spread its content over several children\.$/;
    const noMethod = "the server does not allow this method on the requested resource";
    const noFormat =
      "the body of the request was in an unknown format - accepted media types include: application/json";
    const cases: readonly (readonly [
      what: string,
      code: number,
      said: string,
      expected: RegExp | string,
      reason?: string,
      details?: object,
    ])[] = [
      [
        "one full stop, in a PriorityClass's words",
        422,
        "value: Forbidden: may not be changed in an update.",
        /may not be changed in an update\. Declare update: recreate or never/,
      ],
      ["the remedy for a CRD's rule", 422, 'a: Invalid value: "s": failed rule: self == oldSelf', mayChange],
      [
        "the remedy in a rule's words",
        422,
        'a: Invalid value: "s": it cannot be changed once set',
        mayChange,
      ],
      [
        "no such remedy for another rule",
        422,
        'a: Invalid value: "i": failed rule: self < 9',
        /^(?!.*Declare)/,
      ],
      [
        "the remedy for a plain text where base64 belongs",
        400,
        noBase64,
        /byte 8\. Return plain text in str/,
      ],
      ["that the kind may be at another path", 404, "404 page not found", noPath, "KindMissing"],
      [
        "so, as the API server says it",
        404,
        unfound,
        noPath,
        "KindMissing",
        { reason: "NotFound", details: {} },
      ],
      ["that a field needs a text", 500, noString, `${noString}. Return a string there: "1" instead of 1.`],
      ["that it is too large", 500, "etcdserver: request is too large", tooLarge],
      [
        "that it is too large for the API server",
        413,
        "Request entity too large: limit is 3145728",
        tooLarge,
      ],
      ["which child it was, if it cannot be applied at all", 405, noMethod, `${noMethod}.`],
      ["which child it was, if its form is not known", 415, noFormat, `${noFormat}.`],
      [
        "which right is missing, and where to declare it",
        403,
        noRight,
        /cannot patch resource "configmaps"\. This right follows from children in operator\.yaml: declare \{ apiVersion: "v1", kind: "ConfigMap" \} there/,
      ],
    ];
    for (const [what, code, said, expected, reason = "ChildRefused", more] of cases)
      it(what, async () => {
        const failure = await refused(code, said, { kind: "Status", ...more });
        assert.equal(failure.reason, reason);
        if (typeof expected !== "string") assert.match(failure.message, expected);
        else assert.equal(failure.message, `the API server refused ConfigMap shop/settings: ${expected}`);
      });

    it("with the remedy where it quotes all of a template, and in so few words that a condition has room for them", async () => {
      const template = `{"Containers":${"x".repeat(5_000)}}`;
      const { message } = await refused(422, `spec.template: Invalid value: ${template}: field is immutable`);
      assert.match(message, /spec\.template: .*field is immutable\. Declare update: recreate or never/);
      assert.ok(message.length < 1_000, `${message.length} characters`);
    });

    it("without a value of a Secret, also where the middle of what it says is left out", async () => {
      for (let at = 0; at < 600; at += 50) {
        const quoted = `${"x".repeat(at)}${SECRET}${"x".repeat(600 - at)}`;
        const { message } = await refused(422, `spec.template: Invalid value: ${quoted}: field is immutable`);
        assert.ok(!message.includes("s3cret"), message);
      }
    });

    it("that rights are missing in a namespace that was granted", async () => {
      bench.begin({ isNamespaced: true });
      const { reason, message } = await refused(403, noRight);
      assert.equal(reason, "NamespaceNotGranted");
      assert.match(message, /run `pulumi up --refresh`/);
    });

    it("which right is missing to what a role or a binding would grant, and where to declare it", async () => {
      const missing =
        'roles.rbac "x" is forbidden: user "runner" is attempting to grant RBAC permissions not currently held:\n' +
        '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}\n' +
        '{APIGroups:["apps"], Resources:["deployments"], ResourceNames:["a"], Verbs:["get"]}';
      const role = await refused(403, missing);
      assert.equal(role.reason, "ChildRefused");
      assert.ok(
        role.message.endsWith(
          ' Add this to grants in operator.yaml: [{ apiGroups: [""], resources: ["pods"], verbs: ["get", "list"] }, ' +
            '{ apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["a"], verbs: ["get"] }].',
        ),
        role.message,
      );
      const manifest = { ...desired({}).manifest, roleRef: { kind: "ClusterRole", name: "edit" } };
      bench.cluster.refusals.set(APPLY, new ApiError(403, { message: missing }, "PATCH"));
      const binding = await failureOf(bench.apply({ ...desired({}), manifest }));
      assert.match(binding.message, / Add this to grants in operator\.yaml: \[ClusterRole\/edit\]\.$/);
    });

    for (const [what, resource] of [
      ["a bracket before a long word", `]${"a".repeat(200_000)}`],
      ["many lists without an end", "a:[".repeat(70_000)],
    ] as const)
      it(`which right is missing, at once, even if an author of objects writes ${what} into it`, async () => {
        const rule = `{APIGroups:[""], Resources:["${resource}"], Verbs:["get"]}`;
        const said = "is attempting to grant RBAC permissions not currently held";
        const startedAt = performance.now();
        const { message } = await refused(403, `${said}:\n${rule}`);
        assert.ok(performance.now() - startedAt < 1_000, `${performance.now() - startedAt} ms`);
        assert.ok(
          message.endsWith(`${said}. Add the rules of this role to grants in operator.yaml.`),
          message,
        );
      });

    it("nothing where the API server is busy, or the object's own namespace goes", async () => {
      const causes = { details: { causes: [{ reason: "NamespaceTerminating" }] } };
      for (const error of [
        new ApiError(429, {}, "PATCH"),
        new ApiError(403, causes, "PATCH"),
        missing("shop"),
      ]) {
        bench.cluster.refusals.set(APPLY, error);
        await assert.rejects(bench.apply(), error);
      }
    });

    describe("that another namespace than the object's", () => {
      const elsewhere = (error: ApiError) => {
        bench.cluster.refusals.set(APPLY, error);
        const child = desired();
        const metadata = { ...child.manifest.metadata, namespace: "away" };
        return failureOf(bench.apply({ ...child, manifest: { ...child.manifest, metadata } }));
      };

      it("does not exist, and what to do", async () => {
        const failure = await elsewhere(missing("away"));
        assert.equal(failure.reason, "ChildRefused");
        assert.equal(
          failure.message,
          'the API server refused ConfigMap away/settings: namespaces "away" not found. The namespace away does not exist: create it, or return the child in another namespace.',
        );
      });

      it("is being deleted, and what to do", async () => {
        const message =
          'configmaps "settings" is forbidden: unable to create new content in namespace away because it is being terminated';
        const details = { causes: [{ reason: "NamespaceTerminating" }] };
        const failure = await elsewhere(
          new ApiError(403, { reason: "Forbidden", message, details }, "PATCH"),
        );
        assert.equal(failure.reason, "ChildRefused");
        assert.match(
          failure.message,
          / because it is being terminated\. The namespace away is being deleted: leave out namespaces with a metadata\.deletionTimestamp\.$/,
        );
      });
    });
  });
});

/** As kube-aggregator answers for an API whose server is away. */
const AWAY = new ApiError(503, { message: "service unavailable" }, APPLY);
const UNASKED = new ApiError(
  500,
  {
    kind: "Status",
    reason: "InternalError",
    message: 'Internal error occurred: failed calling webhook "a.example.com": connection refused',
  },
  APPLY,
);
/** As a policy whose parameters are missing. */
const UNAPPLIED = apiErrorOf(
  422,
  {
    kind: "Status",
    reason: "Invalid",
    message:
      "configmaps \"settings\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed to configure " +
      "binding: no params found for policy binding with `Deny` parameterNotFoundAction",
  },
  APPLY,
);
/** As behind a proxy that cuts large requests. */
const CUT = new ApiUnreachableError(APPLY, new Error("socket hang up"));

describe("A child that the API server cannot write", () => {
  let bench: WriterBench;
  let now: number;
  beforeEach(() => {
    now = 0;
    bench = new WriterBench();
    bench.begin({ now: () => now });
    bench.hidden = "refused";
  });

  /** What each of three tries comes to, the last one after 30 seconds. */
  async function tries(write: () => Promise<unknown>): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const time of [0, 10_000, 30_000]) {
      now = time;
      results.push(await write().catch((error: unknown) => error));
    }
    return results;
  }

  for (const error of [AWAY, UNASKED, UNAPPLIED, CUT])
    it(`is no failure at first, and is told if that lasts while others are answered: ${error.message}`, async () => {
      bench.cluster.refusals.set(APPLY, error);
      const [first, second, third] = await tries(() => bench.apply());
      for (const each of [first, second]) {
        const { report, isReported } = consequenceOf(each, "shop");
        assert.deepEqual([report.skipped, isReported], ["API server away", false]);
      }
      assert.ok(third instanceof ReconcileFailure, String(third));
      assert.equal(third.reason, "ChildRefused");
      assert.match(
        third.message,
        /^since \S+Z the API server has failed to write ConfigMap shop\/settings, although it answers/,
      );
      assert.ok(third.message.includes(error.message.replaceAll("refused", "***")), third.message);
      assert.equal(/the API server panics/.test(third.message), error === CUT);
      assert.deepEqual([third.retryAfterSeconds, third.permanent, bench.confirmed], [10, false, 1]);
    });

  it("says the same at each further try, and begins anew after a write", async () => {
    bench.cluster.refusals.set(APPLY, AWAY);
    const [, , third] = await tries(() => bench.apply());
    now += 10_000;
    await assert.rejects(bench.apply(), { message: (third as Error).message });
    bench.cluster.refusals.clear();
    await bench.apply();
    bench.cluster.refusals.set(APPLY, AWAY);
    await assert.rejects(bench.apply(desired({ key: "2" })), (error) => isBusy(error));
  });

  it("is no failure as long as the API server does not answer for its owner either", async () => {
    bench.cluster.refusals.set(APPLY, AWAY);
    for (const problem of [AWAY, new ApiUnreachableError("GET", new Error("refused"))]) {
      bench.look = () => {
        throw problem;
      };
      assert.ok((await tries(() => bench.apply())).every(isBusy));
    }
  });

  it("is no failure at first after the API server was away", async () => {
    bench.cluster.refusals.set(APPLY, AWAY);
    bench.look = () => {
      throw AWAY;
    };
    await tries(() => bench.apply());
    bench.look = () => {};
    now += 1_000;
    await assert.rejects(bench.apply(), (error) => isBusy(error));
  });

  it("is no failure at first after a request for it could not even be sent", async () => {
    const unsent = new ApiUnreachableError(APPLY, new Error("no connection within 10 s"), false);
    const errors = [CUT, CUT, unsent, CUT];
    for (const [index, error] of errors.entries()) {
      now = index * 10_000;
      bench.cluster.refusals.set(APPLY, error);
      await assert.rejects(bench.apply(), error);
    }
    assert.equal(bench.confirmed, 0);
  });

  it("is no failure if its owner has gone between the tries", async () => {
    bench.cluster.refusals.set(APPLY, AWAY);
    bench.look = () => {
      throw new ObjectGoneError();
    };
    const [, , third] = await tries(() => bench.apply());
    assert.ok(third instanceof ObjectGoneError, String(third));
  });

  for (const error of [
    new ApiError(429, { message: "too many requests" }, APPLY),
    new ApiError(401, { message: "Unauthorized" }, APPLY),
    new ApiError(302, { message: "HTTP 302" }, APPLY),
  ])
    it(`is no failure for two minutes if our requests may be too many: ${error.message}`, async () => {
      bench.cluster.refusals.set(APPLY, error);
      assert.ok((await tries(() => bench.apply())).every(isBusy));
      assert.equal(bench.confirmed, 0);
      now = 120_000;
      await assert.rejects(bench.apply(), { name: "ReconcileFailure", reason: "ChildRefused" });
    });

  it("was written if a later look finds it as desired: the next outage is another one", async () => {
    bench.cluster.lost.set(APPLY, AWAY);
    await assert.rejects(bench.apply(), (error) => isBusy(error));
    // The watch brings it.
    bench.store.learn(CONFIG_MAPS, [bench.there() as KubernetesObject]);
    assert.equal(await bench.apply(), undefined);
    now = 300_000;
    const change = () => bench.apply(desired({ key: "2" }));
    for (let attempt = 0; attempt < 3; attempt++) await assert.rejects(change(), (error) => isBusy(error));
    assert.equal(bench.confirmed, 0);
  });

  it("is another one than a child of its name whose deletion was not answered", async () => {
    await bench.apply();
    bench.cluster.lost.set(DELETE, AWAY);
    const first = bench.store.find(CONFIG_MAPS, NAME);
    assert.ok(first);
    await assert.rejects(bench.writer.delete(first, bench.scope()), (error) => isBusy(error));
    retain(bench.store, []);
    now = 300_000;
    bench.cluster.refusals.set(APPLY, AWAY);
    for (let attempt = 0; attempt < 3; attempt++)
      await assert.rejects(bench.apply(), (error) => isBusy(error));
    assert.equal(bench.confirmed, 0);
  });

  it("is told too if it cannot be deleted", async () => {
    await bench.apply();
    const known = bench.store.find(CONFIG_MAPS, NAME);
    assert.ok(known);
    bench.cluster.refusals.set(DELETE, AWAY);
    const [first, , third] = await tries(() => bench.writer.delete(known, bench.scope()));
    assert.ok(isBusy(first));
    assert.ok(third instanceof ReconcileFailure, String(third));
    assert.match(
      third.message,
      /the API server has failed to delete ConfigMap shop\/settings, although it answers/,
    );
  });
});
