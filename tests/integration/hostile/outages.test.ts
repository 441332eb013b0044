import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { always, eventually } from "../../support/eventually";
import { BusyScene, GRACE_MS } from "../support/busyScene";
import { configMap, inNamespace } from "../support/manifests";
import { type Play, withOperatorEach } from "../support/operatorEach";
import { answering, conditionOf, statusOf } from "../support/useOperator";
import { Webhook } from "../support/webhook";

/** Longer than an outage stays unreported. */
const TOLD_WITHIN = { timeoutMs: 60_000 };
/** Longer than the pause between two tries. A backoff would be as long as the outage, at the least. */
const HEALED_WITHIN = { timeoutMs: 20_000 };

const scenes: Readonly<Record<string, Play<BusyScene>>> = {
  "since it lacks the API behind it that serves a kind of children": (busy) => {
    let isAway = true;
    busy.proxy.before = (request) =>
      isAway && busy.isChildWrite(request) ? { code: 503, body: "service unavailable\n" } : undefined;
    return told(busy, /service unavailable/, () => {
      isAway = false;
    });
  },

  "since it cuts the connection at some content, as it does when it panics": (busy) => {
    let isPanicking = true;
    busy.proxy.before = (request) => (isPanicking && busy.isChildWrite(request) ? "cut" : undefined);
    return told(busy, /socket hang up\. Perhaps the API server panics/, () => {
      isPanicking = false;
    });
  },

  "since it lacks a webhook that it has to ask": async (busy) => {
    const rule = { group: "", resources: ["configmaps"], namespace: busy.namespace };
    const { connection } = busy.operator.cluster;
    const webhook = await Webhook.start(busy.api, connection, rule, configMap("probe"));
    try {
      webhook.isBroken = true;
      await told(busy, /failed calling webhook/, () => {
        webhook.isBroken = false;
      });
    } finally {
      await webhook.stop();
    }
  },

  "since it lacks the parameters of a policy that it has to apply": async (busy) => {
    const { api, namespace } = busy;
    const metadata = { name: `configmaps.${namespace}` };
    const apiVersion = "admissionregistration.k8s.io/v1";
    const rule = { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] };
    const policy: Manifest = {
      ...{ apiVersion, kind: "ValidatingAdmissionPolicy", metadata },
      spec: {
        paramKind: { apiVersion: "v1", kind: "Secret" },
        matchConstraints: { resourceRules: [rule] },
        validations: [{ expression: "has(params.metadata)" }],
      },
    };
    const binding: Manifest = {
      ...{ apiVersion, kind: "ValidatingAdmissionPolicyBinding", metadata },
      spec: {
        policyName: metadata.name,
        validationActions: ["Deny"],
        paramRef: { name: "parameters", parameterNotFoundAction: "Deny" },
        matchResources: { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } } },
      },
    };
    const parameters: Manifest = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "parameters", namespace },
    };
    for (const manifest of [policy, binding]) await api.apply(manifest);
    try {
      const probe = inNamespace(configMap("probe"), namespace);
      await eventually(() => assert.rejects(api.apply(probe), /no params found/));
      await told(busy, /'configmaps\.\S+' denied request: failed to configure binding: no params found/, () =>
        api.apply(parameters),
      );
    } finally {
      for (const manifest of [binding, policy]) await api.delete(manifest);
    }
  },

  "since a proxy before it lets no large one pass: the object whose status is one says so, in a small one":
    async (busy) => {
      let isThere = true;
      busy.proxy.before = ({ method, length }) =>
        isThere && method === "PATCH" && length > 50_000 ? "cut" : undefined;
      const status = { text: "x".repeat(100_000) };
      const answer = { ...answering(configMap("other")).answer, status };
      const object = await busy.api.apply(busy.operator.object("large", { answer }, busy.namespace));
      await eventually(async () => {
        const now = await busy.api.get(object);
        assert.ok(now["status"]);
        const { reason, message } = conditionOf(now, "Ready");
        assert.equal(reason, "ApiError", message);
        assert.match(
          message,
          /failed to answer PATCH \S+\/large\/status, although .*lets no large request pass/,
        );
      }, TOLD_WITHIN);
      await eventually(async () =>
        assert.match((await busy.warningsAbout("large")).join(), /^ApiError: since/),
      );
      isThere = false;
      await busy.ready("large", HEALED_WITHIN);
      assert.equal((statusOf(await busy.api.get(object))["text"] as string).length, 100_000);
    },
};

describe("when the API server fails to answer some requests for long", function () {
  this.timeout(180_000);
  withOperatorEach({ name: "outages", graceMs: GRACE_MS }, BusyScene.play, scenes);
});

/** A first child cannot be written: that is told when it lasts, in the API server's words, and heals without a backoff. */
async function told(busy: BusyScene, words: RegExp, mend: () => unknown): Promise<void> {
  const object = await busy.apply("held", configMap("held"));
  const ready = async () => {
    const now = await busy.api.get(object);
    return now["status"] === undefined ? undefined : conditionOf(now, "Ready");
  };
  await eventually(() => assert.ok(busy.operator.calls("held").length > 1, "it is tried again"));
  await always(async () => assert.deepEqual(await busy.warningsAbout("held"), []), {
    forMs: 5_000,
    pollMs: 200,
  });
  await eventually(async () => {
    const condition = await ready();
    assert.deepEqual([condition?.status, condition?.reason], ["False", "ChildRefused"], condition?.message);
    assert.match(
      condition?.message ?? "",
      /^since \S+ the API server has failed to write ConfigMap .*\/held, although it answers/,
    );
    assert.match(condition?.message ?? "", words);
  }, TOLD_WITHIN);
  // Another failure, so that a backoff would have grown.
  const failures = () => busy.engine.reportsOf("held").filter(({ result }) => result === "failed").length;
  await eventually(() => assert.ok(failures() >= 3, `${failures()} failures`), TOLD_WITHIN);
  await mend();
  await busy.ready("held", HEALED_WITHIN);
  await busy.api.get(inNamespace(configMap("held"), busy.namespace));
}
