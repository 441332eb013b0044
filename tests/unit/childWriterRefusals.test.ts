import assert from "node:assert/strict";
import { ApiError } from "../../runtime/kubernetes/errors";
import { APPLY, desired, failureOf, SECRET, WriterBench } from "./support/writerBench";

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
        "what it was",
        422,
        "spec.selector: field is immutable",
        /^the API server refused ConfigMap shop\/set/,
      ],
      ["the remedy for an immutable field", 422, "spec.selector: field is immutable", mayChange],
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
