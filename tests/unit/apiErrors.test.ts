import assert from "node:assert/strict";
import {
  ApiError,
  type ApiStatus,
  ApiUnreachableError,
  apiErrorOf,
  denialIn,
  isBusy,
  isNamespaceMissing,
  isUndecided,
  retryAfterMs,
  settled,
} from "../../runtime/kubernetes/errors";
import { SENTENCES } from "../../runtime/kubernetes/sentences";
import { withinCpuTime } from "../support/cpuTime";

function refusal(code: number, status: ApiStatus = {}): ApiError {
  return new ApiError(code, status, "PATCH /api/v1");
}

function internal(message: string): ApiError {
  return refusal(500, { kind: "Status", reason: "InternalError", message });
}

describe("an API server", () => {
  for (const error of [
    refusal(302),
    refusal(401, { kind: "Status", reason: "Unauthorized", message: "Unauthorized" }),
    refusal(429),
    refusal(502, { message: "upstream is away" }),
    refusal(503, { reason: "ServiceUnavailable", message: "apiserver is shutting down" }),
    refusal(504, { reason: "Timeout" }),
    refusal(500, { reason: "ServerTimeout", details: { retryAfterSeconds: 2 } }),
    refusal(500, { message: "panic in a filter: see the log" }),
    internal("etcdserver: leader changed"),
    internal("etcdserver: request timed out, possibly due to previous leader failure"),
    internal("etcdserver: mvcc: database space exceeded"),
    internal("rpc error: code = Unavailable desc = transport is closing"),
  ]) {
    it(`is busy: ${error.code} ${error.message}`, () => assert.ok(isBusy(error)));
  }

  for (const error of [
    refusal(400),
    refusal(403),
    refusal(409),
    refusal(409, { reason: "AlreadyExists", details: { retryAfterSeconds: 1 } }),
    refusal(422),
    refusal(429, { details: { causes: [{ reason: "DisruptionBudget" }] } }),
    internal("etcdserver: request is too large"),
    internal('failed calling webhook "a.example.com": connection refused'),
    new ApiUnreachableError("GET /api/v1", new Error("refused")),
    new Error("etcdserver: leader changed"),
    undefined,
  ]) {
    it(`is not busy: ${error}`, () => assert.ok(!isBusy(error)));
  }

  for (const [message, denial] of [
    [
      'admission webhook "a.example.com" denied the request: no',
      'admission webhook "a.example.com" denied the request',
    ],
    [
      "widgets.example.com \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request",
    ],
    [
      "pods is forbidden: ValidatingAdmissionPolicy 'p' denied request: no",
      "ValidatingAdmissionPolicy 'p' denied request",
    ],
    ["policy 'p' with binding 'b' denied request: no", "policy 'p' with binding 'b' denied request"],
  ] as const) {
    it(`names who denies a request, whose code does not count: ${denial}`, () => {
      assert.equal(denialIn(message), denial);
      const details = { causes: [{ reason: "NamespaceTerminating" }] };
      for (const code of [401, 404, 429, 503]) {
        const error = apiErrorOf(
          code,
          { kind: "Status", code, reason: "NotFound", message, details },
          "POST",
        );
        assert.deepStrictEqual([error.code, error.reason, error.status.details], [403, "Unknown", undefined]);
      }
      for (const code of [409, 422]) assert.equal(apiErrorOf(code, { message, details }, "POST").code, code);
    });
  }

  for (const [code, policy] of [
    [422, "widgets.example.com \"a\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b'"],
    [403, "policy 'p'"],
  ] as const)
    for (const part of ["policy", "binding"])
      it(`has decided nothing if it cannot apply a policy, like a webhook that does not answer: ${code}, ${part}`, () => {
        const message = `${policy} denied request: failed to configure ${part}: paramKind kind \`x\` not known`;
        const error = apiErrorOf(code, { kind: "Status", code, reason: "Invalid", message }, "PATCH");
        assert.deepStrictEqual([error.code, isUndecided(error), isBusy(error)], [500, true, false]);
        assert.equal(error.message, message);
      });

  for (const message of [
    'admission webhook "a.example.com" denied the request: failed to configure policy: no',
    "ValidatingAdmissionPolicy 'p' denied request: failed to configure policies: no",
    'Widget "a" is invalid: spec.text: Invalid value: "denied request: failed to configure policy: ": too long',
  ])
    it(`does not believe that a policy cannot be applied because others say so: ${message}`, () => {
      const error = apiErrorOf(422, { kind: "Status", code: 422, message }, "PATCH");
      assert.deepStrictEqual([error.code, isUndecided(error)], [422, false]);
    });

  for (const message of [
    'widgets "a" is forbidden: User "x" cannot create resource "widgets"',
    'Widget "a" is invalid: spec: Invalid value: "ValidatingAdmissionPolicy \'p\' denied request"',
    "",
  ]) {
    it(`finds no denial in: ${message}`, () => assert.equal(denialIn(message), undefined));
  }

  it("is understood if a proxy before it answers causes that are none", () => {
    for (const causes of ["none", [null], [1]] as unknown as NonNullable<ApiStatus["details"]>["causes"][])
      assert.ok(isBusy(refusal(429, causes && { details: { causes } })));
  });

  it("says how long to wait, or does not", () => {
    assert.equal(retryAfterMs(refusal(429, { details: { retryAfterSeconds: 3 } })), 3_000);
    assert.equal(retryAfterMs(refusal(429)), undefined);
    for (const seconds of ["soon", -1, null])
      assert.equal(
        retryAfterMs(refusal(429, { details: { retryAfterSeconds: seconds as number } })),
        undefined,
      );
    assert.equal(retryAfterMs(refusal(503, { details: { retryAfterSeconds: 60 } })), 60_000);
    assert.equal(retryAfterMs(new Error("no answer")), undefined);
  });

  it("waits for no longer than a minute, and lets not all come back at the same moment", () => {
    for (const retryAfterSeconds of [61, 3_600, 1e9, Number.POSITIVE_INFINITY]) {
      const error = refusal(503, { details: { retryAfterSeconds } });
      const waits = Array.from({ length: 20 }, () => retryAfterMs(error) ?? 0);
      assert.ok(
        waits.every((ms) => ms >= 30_000 && ms <= 60_000),
        waits.join(),
      );
      assert.ok(new Set(waits).size > 1);
    }
  });

  it("finds nothing in a namespace that does not exist, and names it", () => {
    const missing = refusal(404, { reason: "NotFound", details: { kind: "namespaces", name: "shop" } });
    const child = refusal(404, { reason: "NotFound", details: { kind: "configmaps", name: "shop" } });
    const asked = [missing, child, refusal(404), refusal(403)].map((error) =>
      isNamespaceMissing(error, "shop"),
    );
    assert.deepStrictEqual(asked, [true, false, false, false]);
    assert.ok(!isNamespaceMissing(missing, "other") && !isNamespaceMissing(missing, undefined));
  });
});

describe("the error for a refusal", () => {
  const PATH = 'forbidden: User "runner" cannot get path "/apis/apps/v1"';
  const RESOURCE = 'pods is forbidden: User "runner" cannot list resource "pods" in API group ""';

  function refusal(message: string, code = 403): ApiError {
    return new ApiError(code, { kind: "Status", reason: "Forbidden", message }, "GET /api/v1/pods");
  }

  for (const message of [RESOURCE, PATH])
    it(`takes a server that was away a moment ago for busy, for five seconds: ${message}`, () => {
      const taken = settled(refusal(message), 4_900);
      assert.ok(isBusy(taken));
      assert.equal(retryAfterMs(taken), 1_000);
      assert.ok(taken.message.endsWith(message));
      assert.equal(settled(refusal(message), 5_000).code, 403);
    });

  it("changes no other answer, and none of a server that was not away", () => {
    assert.equal(settled(refusal(RESOURCE), Number.POSITIVE_INFINITY).code, 403);
    assert.equal(settled(refusal("the policy forbids it"), 0).code, 403);
    assert.equal(settled(refusal(RESOURCE, 404), 0).code, 404);
  });
});

/** The API server quotes what the author of an object wrote, up to the length of an object. */
const LENGTH = 500_000;

describe("a sentence of the API server", () => {
  for (const [name, sentence] of Object.entries(SENTENCES))
    it(`is looked for in no more time than the message is long, whatever the author of an object wrote: ${name}`, () => {
      const parts = sentence.source.match(/[A-Za-z :'"]{4,}/g) ?? [];
      withinCpuTime(2_000, () => {
        for (const text of parts) sentence.test(`"${text.repeat(Math.ceil(LENGTH / text.length))}"`);
      });
    });
});
