import assert from "node:assert/strict";
import { checkOperators } from "../../definition/checkOperators";
import type { JsonObject } from "../../runtime/base/objects";
import { definitionFileContent } from "../../runtime/programs/definitionFile";
import {
  loadDefinition,
  problemsIn,
  problemsOf,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "./operatorFolder";
import { assertNone } from "./support/lists";
import { titleOf } from "./support/titles";

const SPEC: JsonObject = {
  type: "object",
  required: ["text"],
  properties: {
    text: { type: "string" },
    count: { type: "integer" },
    kind: { type: "string", enum: ["comment"] },
    list: { type: "array", items: { type: "object", properties: { a: { type: "string" } } } },
  },
};
const WEBHOOK = {
  endpoint: "/deploy",
  method: "POST",
  port: "12000",
  authSecret: { name: "deploy", key: "token" },
};
const GITHUB = {
  webhook: { endpoint: "/github", method: "POST", port: "13000" },
  repositories: [{ owner: "octo-org", names: ["shop"] }],
  webhookSecret: { name: "github", key: "secret" },
};
const EVENT = {
  webhook: WEBHOOK,
  id: ["body.id"],
  create: { kind: "Widget", namespace: "shop", spec: { text: "body.text" } },
};

describe("on", () => {
  let root: string;
  beforeEach(() => {
    const crd = widgetCrd({ versions: [widgetVersion({}, { spec: SPEC })] });
    root = writeFolder({ "crd.yaml": crd, "main.py": "" });
  });

  const definition = (event: object, further: object = {}) => ({
    ...widgetDefinition,
    name: "widget",
    on: { deploy: { ...EVENT, ...event } },
    ...further,
  });
  const problemWith = (event: object, further: object = {}) => {
    const problems = problemsOf(root, definition(event, further));
    assert.ok(problems.length <= 1, problems.join("\n"));
    return problems[0];
  };

  it("becomes the operator's events", () => {
    const operator = loadDefinition(
      root,
      definition({ ttlSecondsAfterReady: 86400, when: { "body.a": "b" } }),
    );
    assert.deepStrictEqual(operator.on, [
      {
        name: "deploy",
        type: "webhook",
        source: WEBHOOK,
        id: ["body.id"],
        when: { "body.a": "b" },
        namespace: "shop",
        spec: { text: "body.text" },
        ttlSecondsAfterReady: 86400,
      },
    ]);
    assert.deepStrictEqual(operator.eventTtls, { deploy: 86400 });
  });

  it("changes nothing of what a runner reads but how long objects stay", () => {
    const read = (event: object) => definitionFileContent(loadDefinition(root, definition(event)));
    const without = definitionFileContent(loadDefinition(root, { ...widgetDefinition, name: "widget" }));
    assert.equal(read({}), without);
    assert.notEqual(read({ ttlSecondsAfterReady: 86400 }), without);
  });

  const WAKE = { id: undefined, create: undefined, wake: { namespace: "shop", name: "body.name" } };

  it("names an object to wake, also one of a kind of others", () => {
    const on = [
      {
        name: "deploy",
        type: "webhook",
        source: WEBHOOK,
        when: {},
        wake: { namespace: "shop", name: "body.name" },
      },
    ];
    assert.deepStrictEqual(loadDefinition(root, definition(WAKE)).on, on);
    const { crd: _, ...others } = definition(WAKE) as Record<string, unknown>;
    const watch = { apiVersion: "v1", kind: "Namespace" };
    const woken = (wake: object) =>
      problemsOf(root, { ...others, watch, on: { deploy: { ...WAKE, webhook: WEBHOOK, wake } } });
    assert.deepStrictEqual(woken({ name: "body.name" }), []);
    assert.match(String(woken(WAKE.wake)), /wake\.namespace is given, and Namespace is cluster-scoped/);
  });

  it("accepts GitHub, other sources, paths to namespaces, constants and lists", () => {
    const events = {
      github: { github: GITHUB, webhook: undefined },
      queue: { sqs: { queue: "q", region: "eu-central-1" }, webhook: undefined },
      team: { create: { ...EVENT.create, namespace: { from: "body.team", allowed: ["a", "b"] } } },
      content: {
        create: {
          ...EVENT.create,
          spec: { text: "'x'", count: 3, kind: "'comment'", list: [{ a: "body.a?" }] },
        },
      },
    };
    for (const [name, event] of Object.entries(events)) assert.equal(problemWith(event), undefined, name);
  });

  const hook = (fields: object) => ({ webhook: { ...WEBHOOK, ...fields } });
  const gitHub = (fields: object) => ({ webhook: undefined, github: { ...GITHUB, ...fields } });
  const creating = (fields: object) => ({ create: { ...EVENT.create, ...fields } });
  const waking = (wake: object) => ({ ...WAKE, wake });
  const refused: readonly (readonly [event: object, problem: RegExp])[] = [
    [{ webhook: undefined }, /^on\.deploy has no source\. Give one/],
    [{ github: GITHUB }, /^on\.deploy\.github is given together with webhook/],
    [{ webhok: WEBHOOK, webhook: undefined }, /webhok is not a known field\. Did you mean webhook\?/],
    [{ resource: {}, webhook: undefined }, /^on\.deploy\.resource needs rights/],
    [hook({ authSecret: undefined }), /webhook\.authSecret is missing/],
    [gitHub({ webhookSecret: undefined }), /github\.webhookSecret is missing/],
    [gitHub({ repositories: undefined }), /github has neither repositories nor organizations/],
    [
      gitHub({ apiToken: { name: "a", key: "b" }, webhook: { ...GITHUB.webhook, url: "https://a" } }),
      /github\.events is missing or empty/,
    ],
    [hook({ filter: { expression: "1" } }), /webhook\.filter drops events without any message/],
    [{ webhook: undefined, sqs: { filter: {} } }, /sqs\.filter drops events/],
    [hook({ port: 12000 }), /port must be a string, not the number 12000: write it in quotes/],
    [hook({ port: "70000" }), /port is "70000", not a port/],
    [hook({ method: undefined }), /method is missing/],
    [hook({ endpoint: "/health" }), /endpoint is \/health, which Argo answers itself/],
    [hook({ maxPayloadSize: 2 ** 21 }), /maxPayloadSize is 2097152, outside of/],
    [hook({ serverCertSecret: { name: "a", key: "b" } }), /has one of serverCertSecret and serverKeySecret/],
    [{ id: undefined }, /^on\.deploy\.id is missing/],
    [{ id: [] }, /^on\.deploy\.id is empty/],
    [{ id: ["body id"] }, /^on\.deploy\.id\[0\] is "body id", which is not a field path/],
    [{ when: { "a b": 1 } }, /is "a b", which is not a field path/],
    [{ when: { a: { b: 1 } } }, /^on\.deploy\.when\.a/],
    [creating({ kind: "Pod" }), /create\.kind is Pod, not the operator's own kind\. Write kind: Widget/],
    [creating({ namespace: undefined }), /create\.namespace is missing/],
    [creating({ namespace: { from: "body.team", allowed: [] } }), /namespace\.allowed is empty/],
    [
      creating({ spec: { text: "a", txet: "b" } }),
      /spec\.txet is not in the CRD's schema\. Did you mean text\?/,
    ],
    [creating({ spec: { text: "a", list: [{ b: "b" }] } }), /spec\.list\[0\]\.b is not in the CRD's schema/],
    [creating({ spec: { count: "a" } }), /spec\.text is missing, and the CRD's schema requires it/],
    [
      creating({ spec: { text: "a", count: "'x'" } }),
      /spec\.count is a constant that the CRD's schema does not accept/,
    ],
    [creating({ spec: { text: "a", kind: "'x'" } }), /spec\.kind is a constant/],
    [
      creating({ spec: { text: { a: "b" } } }),
      /spec\.text is an object, which the CRD's schema does not accept/,
    ],
    [
      creating({ spec: { text: "two words" } }),
      /spec\.text is "two words", which is not a field path\. .*"'two words'"/,
    ],
    [creating({ spec: { text: null } }), /spec\.text has no value/],
    [{ create: undefined }, /^on\.deploy has neither create nor wake\./],
    [{ wake: WAKE.wake }, /^on\.deploy\.wake is given together with create\./],
    [{ ...WAKE, id: ["body.id"] }, /^on\.deploy\.id has no meaning with wake/],
    [{ ...WAKE, ttlSecondsAfterReady: 86400 }, /^on\.deploy\.ttlSecondsAfterReady has no meaning with wake/],
    [waking({ name: "body.name" }), /^on\.deploy\.wake\.namespace is missing\./],
    [waking({ namespace: "shop" }), /^on\.deploy\.wake\.name is missing/],
    [
      waking({ namespace: "shop", name: "'Main'" }),
      /^on\.deploy\.wake\.name is 'Main', which is not the name of an object\./,
    ],
    [
      waking({ namespace: "shop", name: "a b" }),
      /^on\.deploy\.wake\.name is "a b", which is not a field path\./,
    ],
    [{ ttlSecondsAfterReady: 3600 }, /ttlSecondsAfterReady is 3600, outside of 86400/],
  ];
  for (const [event, problem] of refused) {
    it(`refuses: ${titleOf(problem)}`, () => {
      const [first = "nothing", ...others] = problemsOf(root, definition(event));
      assert.match(first, problem);
      // An unknown source counts as none.
      assertNone(others, (other) => !other.startsWith("on.deploy has no source"));
    });
  }

  it("refuses a namespace whose objects the operator does not handle", () => {
    assert.match(problemWith({}, { namespaces: ["other"] }) ?? "", /namespace names shop, whose objects/);
    assert.equal(problemWith({}, { namespaces: ["shop"] }), undefined);
  });

  it("refuses to wake objects that the operator does not handle, or whose handler looks at nothing else", () => {
    assert.match(
      problemWith(WAKE, { namespaces: ["other"] }) ?? "",
      /wake\.namespace names shop, whose objects/,
    );
    const chosen = { ...WAKE, wake: { namespace: { from: "body.team" }, name: "body.name" } };
    assert.equal(problemWith(chosen, { namespaces: ["other"] }), undefined);
    assert.match(
      problemWith(WAKE, { ask: "changed" }) ?? "",
      /^ask is changed, but the event deploy wakes objects for what no request shows/,
    );
  });

  it("refuses a name that no object could have", () => {
    const problems = problemsOf(root, { ...definition({}), on: { "a.b": EVENT } });
    assert.match(problems.join("\n"), /is "a\.b", not a DNS label/);
  });

  it("refuses sources that would be in each other's way, also of two operators", () => {
    const operator = loadDefinition(root, definition({}));
    const clash = (webhook: object, github?: object) => {
      const event = github ? { webhook: undefined, github } : { webhook: { ...WEBHOOK, ...webhook } };
      const other = {
        ...loadDefinition(root, definition(event)),
        name: "other",
        customResource: { ...operator.customResource, plural: "others", kind: "Other" },
        crd: {},
      };
      const problems = problemsIn(() => checkOperators([operator, other]));
      assert.ok(problems.length <= 1, problems.join("\n"));
      return problems[0];
    };
    assert.match(
      clash({}) ?? "",
      /on\.deploy\.webhook\.endpoint is \/deploy at port 12000, which another source has as well/,
    );
    assert.equal(clash({ endpoint: "/other" }), undefined);
    assert.equal(clash({ port: "12001" }), undefined);
    const certificate = {
      serverCertSecret: { name: "a", key: "b" },
      serverKeySecret: { name: "a", key: "c" },
    };
    assert.match(clash({ endpoint: "/other", ...certificate }) ?? "", /with another certificate/);
    assert.match(clash({ port: "7777" }) ?? "", /at which Argo serves metrics/);
    const github = { ...GITHUB, webhook: { ...GITHUB.webhook, port: "12000" } };
    assert.match(clash({}, github) ?? "", /which a source of another type uses: webhook/);
  });
});
