import assert from "node:assert/strict";
import { plain } from "../../cli/common/terminal";
import { explain } from "../../cli/inspect/explanation";
import { formatExplanation } from "../../cli/inspect/formatExplanation";
import type { Known, ObjectEvent } from "../../cli/inspect/known";
import { placeIn } from "../../cli/inspect/place";
import type { InstalledOperator, UnreadableOperator } from "../../cli/inspect/readInstalled";
import type { Unled } from "../../cli/inspect/runner";
import type { Run } from "../../cli/inspect/runs";
import type { Condition, KubernetesObject, ObjectMeta } from "../../runtime/base/objects";
import { observed, operator } from "./support/objects";
import { titleOf } from "./support/titles";

const NOW = new Date("2026-01-01T12:00:00Z");
const at = (secondsAgo: number) => new Date(NOW.getTime() - secondsAgo * 1000).toISOString();

const MEMCACHED = { kind: "Memcached", plural: "memcacheds", namespaced: true };
const OPERATOR: InstalledOperator = {
  ...operator({
    name: "memcached",
    customResource: { group: "cache.example.com", version: "v1alpha1", ...MEMCACHED },
  }),
  home: "argosy",
};

const UNLED: Unled = {
  operator: OPERATOR,
  why: ": the operator is scaled to zero",
  remedy: "Scale it up.",
};

const UNREADABLE: UnreadableOperator = {
  name: "memcached",
  home: "argosy",
  complaint: "deployed by Argosy 99.1.0, and this command cannot read its definition: a flaw",
  remedy: "Use the command of that version: npx it",
};

const TRACEBACK = `Traceback (most recent call last):
  File "/argosy/engine/function.py", line 40, in main
  File "/argosy/handler/main.py", line 12, in reconcile
ZeroDivisionError: division by zero`;

const RUN: Run = {
  name: "memcached-sessions-2-abc",
  namespace: "argosy",
  operator: "memcached",
  installation: "argosy",
  object: { kind: "Memcached", namespace: "shop", name: "sessions" },
  phase: "Failed",
  startedAt: at(5),
  finishedAt: at(5),
  message: "HandlerCrashed: it ended with exit code 1",
  reason: "HandlerCrashed",
  log: TRACEBACK,
};

function ready(more: Partial<Condition> = {}): Condition {
  return {
    type: "Ready",
    status: "False",
    reason: "HandlerCrashed",
    message: "it ended with exit code 1",
    lastTransitionTime: at(60),
    observedGeneration: 2,
    ...more,
  };
}

function object(metadata: Partial<ObjectMeta> = {}, conditions: Condition[] = [ready()]): KubernetesObject {
  const content = { apiVersion: "cache.example.com/v1alpha1", status: { conditions } };
  return observed("Memcached", content, { name: "sessions", uid: "u", generation: 2, ...metadata });
}

function event(more: Partial<ObjectEvent> = {}): ObjectEvent {
  return { type: "Warning", reason: "HandlerCrashed", note: "crashed", count: 1, lastAt: at(2), ...more };
}

function known(more: Partial<Known> = {}): Known {
  return {
    object: object(),
    operators: [OPERATOR],
    unreadable: [],
    leader: "memcached-runner-1",
    events: [],
    runs: [],
    childrenElsewhere: [],
    now: NOW,
    ...more,
  };
}

describe("an explanation", () => {
  it("of a failure has the attempt, the next try, the last words and their place", () => {
    const explained = explain(known({ events: [event({ nextAttempt: 5, nextTry: at(-2) })], runs: [RUN] }));
    const { object: about, fine, summary, since, attempt, nextTry } = explained;
    const { place, lastWords, operator, installation, leader } = explained;
    assert.deepEqual(
      {
        ...{ object: about, fine, summary, since, attempt, nextTry },
        ...{ place, lastWords, operator, installation, leader },
      },
      {
        object: {
          apiVersion: "cache.example.com/v1alpha1",
          kind: "Memcached",
          namespace: "shop",
          name: "sessions",
        },
        fine: false,
        summary: "It is not Ready: its reconcile fails.",
        since: at(60),
        attempt: 5,
        nextTry: "within 2 s",
        place: { file: "main.py", line: 12 },
        lastWords: TRACEBACK,
        operator: "memcached",
        installation: "argosy",
        leader: "memcached-runner-1",
      },
    );
  });

  it("of a crash without a recorded run has the place that the last words in the message name", () => {
    const placeOf = (message: string) => explain(known({ object: object({}, [ready({ message })]) })).place;
    const crashed = "the handler ended with exit code 1";
    assert.equal(placeOf(crashed), undefined);
    assert.deepEqual(placeOf(`${crashed}: main.rb:3:in 'Hash#fetch': key not found`), {
      file: "main.rb",
      line: 3,
    });
    assert.deepEqual(placeOf(`${crashed}: main.sh: line 4: jqq: command not found`), {
      file: "main.sh",
      line: 4,
    });
  });

  it("of a child that is undone each time says how that ends", () => {
    const waiting = object({}, [ready({ reason: "ChildrenNotReady", message: "Job demo is running" })]);
    const contested = explain(known({ object: waiting, events: [event({ reason: "ChildContested" })] }));
    assert.match(contested.advice[0] ?? "", /ttlSecondsAfterFinished.* argosy\.dev\/once: "true"/);
    assert.match(contested.advice[1] ?? "", / errors ChildContested$/);
    assert.match(explain(known({ object: waiting })).advice[0] ?? "", /^Look at the child/);
  });

  it("has the attempt and the pause that the newest failure tells, whatever its reason", () => {
    const failures = [
      event({ reason: "ChildContested", lastAt: at(1) }),
      event({ count: 2, nextAttempt: 9, nextTry: at(-4) }),
      event({ reason: "InvalidAnswer", count: 7, lastAt: at(40), nextAttempt: 8, nextTry: at(-90) }),
    ];
    const { attempt, nextTry } = explain(known({ events: failures }));
    assert.deepEqual([attempt, nextTry], [9, "within 4 s"]);
  });

  it("counts no attempt of which nothing tells: an Event of a failure before the object was Ready, or none", () => {
    for (const events of [
      [event({ lastAt: at(3_000), nextAttempt: 100, nextTry: at(2_900) })],
      [event()],
      [],
    ]) {
      const { attempt, nextTry } = explain(known({ events }));
      assert.deepEqual([attempt, nextTry], [undefined, "within 300 s of the last failure"]);
    }
  });

  it("knows a failure that was told in the second in which the object was no longer Ready", () => {
    const lastTransitionTime = at(60).replace(".000Z", "Z");
    const told = event({ lastAt: at(60).replace(".000Z", ".500000Z"), nextAttempt: 5 });
    const failing = object({}, [ready({ lastTransitionTime })]);
    assert.equal(explain(known({ object: failing, events: [told] })).attempt, 5);
  });

  it("of an object that is Ready has no warning from before", () => {
    const of = object({}, [ready({ status: "True", reason: "Reconciled" })]);
    const contested = event({ reason: "ChildContested", lastAt: at(5) });
    assert.deepEqual(explain(known({ object: of, events: [contested, event({ lastAt: at(61) })] })).events, [
      contested,
    ]);
  });

  describe("of an error of the handler says what to do:", () => {
    const advised = (message: string) =>
      explain(known({ object: object({}, [ready({ reason: "HandlerError", message })]) }));

    for (const [message, at] of [
      ["main.py:12 in reconcile: KeyError: 'size'", "main.py, line 12"],
      ["main.py:3: SyntaxError: invalid syntax", "main.py, line 3"],
      ["../shared/names.py:7 in named: ValueError: no name", "../shared/names.py, line 7"],
      ["lib/main.ts:4 in Reader.read: TypeError: x is undefined", "lib/main.ts, line 4"],
    ] as const) {
      it(`mend the handler, which threw an exception: ${message}`, () => {
        const { place, advice } = advised(message);
        assert.equal(`${place?.file}, line ${place?.line}`, at);
        assert.match(advice[0] ?? "", new RegExp(`^Fix the handler at ${at}, and run argosy test\\. `));
      });
    }

    for (const message of [
      "main.py: reconcile returned None, not a dict. Return, for example, {}",
      "main.ts exports no function finalize(request). Write: export function finalize(request) { ... }",
    ])
      it(`mend the handler, which is no handler: ${message}`, () =>
        assert.match(
          advised(message).advice[0] ?? "",
          /^Fix the handler at main\.(py|ts), and run argosy test\. /,
        ));

    it("give the Secret that the operator was not given", () => {
      const events = [event({ reason: "UsedSecretNotGiven" })];
      const of = object({}, [ready({ reason: "HandlerError", message: "no password" })]);
      const { advice } = explain(known({ object: of, events }));
      assert.match(advice[0] ?? "", /^Create the Secret, or label it .* notices that by itself/);
      // The operator reads the Secret again only after a while.
      assert.doesNotMatch(advice.join(), /replay/);
    });

    it("change the object where it answered one", () => {
      for (const message of ["spec.size is above 9", "settings.yaml:3: no such plan", "plan.js is no plan"])
        assert.equal(advised(message).advice[0], "Change the object as the message asks.");
    });

    for (const [message, advice] of [
      [
        'main.py:15 in get: PermissionError: deployments.apps "shop" is forbidden: User "system:serviceaccount:argosy:memcached-handler" cannot get resource "deployments" in API group "apps" in the namespace "shop"',
        /: npm run argosy -- add rule memcached get deployments\.apps$/,
      ],
      [
        'main.js:9 in get: Error: {"kind":"Status","message":"pods is forbidden: User \\"a\\" cannot list resource \\"pods/log\\" in API group \\"\\" at the cluster scope"}',
        /: npm run argosy -- add rule memcached list pods\/log$/,
      ],
      ["main.py:8 in get: KeyError: 'ARGOSY_SERVICE_ACCOUNT'", /add rule memcached get pods$/],
      ["main.py:13 in get: urllib.error.HTTPError: HTTP Error 403: Forbidden", /names this right/],
    ] as const)
      it(`give the handler a right: ${message}`, () =>
        assert.match(advised(message).advice[0] ?? "", advice));
  });

  it("of a failure for good says what it waits for", () => {
    const stalled = { ...ready(), type: "Stalled", status: "True" as const };
    assert.equal(
      explain(known({ object: object({}, [ready(), stalled]) })).nextTry,
      "when the object, a child or a used object changes, and at the next resync",
    );
  });

  for (const [more, says, advises] of [
    [{ object: object({}, [ready({ status: "True", reason: "Reconciled" })]) }, /^It is Ready\.$/],
    [
      { object: object({}, [ready({ reason: "ChildrenNotReady" })]) },
      /its children are applied, but some of them are not ready/,
      /kubectl describe/,
    ],
    [
      { object: object({ annotations: { "argosy.dev/paused": "yes" } }) },
      /^It is paused/,
      /argosy -- resume memcached\/sessions --namespace shop$/,
    ],
    [{ object: object({}, []) }, /never handled/, /argosy -- logs memcached$/],
    [
      { object: object({ generation: 3 }) },
      /generation 3 was not handled yet; the conditions are about generation 2/,
    ],
    [
      { object: object({}, []), operators: [] },
      /No operator for Memcached is installed/,
      /^Deploy one with pulumi up, .*\. If what was deployed before has been deleted, run pulumi up --refresh\.$/,
    ],
    [
      { object: object({}, []), operators: [], unreadable: [UNREADABLE] },
      /never handled: it has no Ready condition\. Whether an operator for Memcached is installed .* is not known, because the definition of memcached cannot be read\.$/,
      /^Use the command of that version: npx it$/,
    ],
    [
      { operators: [{ ...OPERATOR, namespaces: ["team-a"] }] },
      /No operator handles it: memcached handles only the namespaces team-a/,
    ],
  ] as [Partial<Known>, RegExp, RegExp?][]) {
    it(`of an object says: ${titleOf(says)}`, () => {
      const { fine, summary, advice } = explain(known(more));
      assert.match(summary, says);
      assert.equal(fine, summary === "It is Ready.");
      if (advises) assert.match(advice.join("\n"), advises);
    });
  }

  describe("of a deletion names each finalizer, who put it on and what it waits for:", () => {
    const deleted = (finalizer: string, manager = "argosy/argosy.dev/argosy.memcached") =>
      object({
        deletionTimestamp: at(100),
        finalizers: [finalizer],
        managedFields: [
          { manager, fieldsV1: { "f:metadata": { "f:finalizers": { [`v:"${finalizer}"`]: {} } } } },
        ],
      });
    for (const [finalizer, manager, waitsFor, more] of [
      ["argosy.dev/argosy.memcached", undefined, /has not returned "finalized": true: it ended/],
      [
        "elsewhere.argosy.dev/argosy.memcached",
        undefined,
        /still exist: ConfigMap team-a\/settings/,
        { childrenElsewhere: ["ConfigMap team-a/settings"] },
      ],
      [
        "order.argosy.dev/argosy.memcached",
        undefined,
        /its children go in the reverse order of argosy\.dev\/after/,
      ],
      [
        "argosy.dev/argosy.old",
        "argosy/argosy.dev/argosy.old",
        /the operator argosy\.old, which must release it, is not installed in this cluster for the kind Memcached\./,
      ],
      [
        "argosy.dev/argosy.memcached",
        undefined,
        /the operator argosy\.memcached must release it, and its definition cannot be read/,
        { operators: [], unreadable: [UNREADABLE] },
      ],
      ["backup.example.com/keep", "velero", /velero has not removed its finalizer/],
      ["constructor", "velero", /velero has not removed its finalizer/],
      ["foregroundDeletion", "kubectl", /children in the same namespace are deleted first/],
    ] as [string, string | undefined, RegExp, Partial<Known>?][]) {
      it(`${finalizer}: ${titleOf(waitsFor)}`, () => {
        const { holds, summary, fine, since } = explain(
          known({ object: deleted(finalizer, manager), ...more }),
        );
        const [hold] = holds;
        assert.ok(hold && holds.length === 1);
        assert.match(hold.waitsFor, waitsFor);
        assert.match(summary, waitsFor);
        assert.notEqual(hold.remedy, "");
        const by = finalizer === "foregroundDeletion" ? "Kubernetes' garbage collector" : manager;
        assert.equal(hold.by, by ?? "argosy/argosy.dev/argosy.memcached");
        assert.deepEqual([fine, since], [false, at(100)]);
      });
    }
  });

  it("of a deletion that waits for an operator without a leader says that first, once, and never to fix the handler", () => {
    const [own, elsewhere] = ["argosy.dev/argosy.memcached", "elsewhere.argosy.dev/argosy.memcached"];
    const said = (finalizers: string[], reason: string, more: Partial<Known> = {}) => {
      const of = object({ deletionTimestamp: at(100), finalizers }, [ready({ reason })]);
      return explain(known({ object: of, leader: undefined, unled: UNLED, ...more }));
    };
    const unled = "no runner of argosy.memcached leads: the operator is scaled to zero";
    for (const reason of ["Finalizing", "HandlerCrashed", "NamespaceNotGranted"]) {
      const { summary, advice } = said([own, elsewhere], reason);
      assert.equal(summary, `It is being deleted, and ${unled}.`);
      assert.deepEqual(advice, ["Scale it up."]);
    }
    const withForeign = said([own, "backup.example.com/keep"], "Finalizing").summary;
    assert.match(
      withForeign,
      new RegExp(`^It is being deleted, and ${unled}, and an unknown client has not`),
    );
    // Another operator's finalizer does not wait for this one.
    const operators = [OPERATOR, { ...OPERATOR, name: "notify" }];
    assert.match(
      said(["argosy.dev/argosy.notify"], "Finalizing", { operators }).summary,
      /its handler has not returned/,
    );
  });

  it("of a deletion in order names the child that holds it up, as the object does", () => {
    const message =
      "children go in order: Job a is being deleted and is held by the finalizer x/y; then Job b";
    const finalizers = ["order.argosy.dev/argosy.memcached"];
    const deleted = object({ deletionTimestamp: at(100), finalizers }, [
      ready({ reason: "Finalizing", message }),
    ]);
    const { summary, advice } = explain(known({ object: deleted }));
    assert.equal(summary, `It is being deleted, and its ${message}.`);
    assert.match(advice.join(), /kubectl annotate .* argosy\.dev\/skip-finalize=true/);
  });

  it("of a deletion that the operator cannot go on with has the remedy of that failure, once", () => {
    const finalizers = ["argosy.dev/argosy.memcached", "elsewhere.argosy.dev/argosy.memcached"];
    const failure = ready({ reason: "NamespaceNotGranted", message: "it had children in b." });
    const { summary, advice } = explain(
      known({ object: object({ deletionTimestamp: at(100), finalizers }, [failure]) }),
    );
    assert.equal(summary, "It is being deleted, and its operator cannot release it: it had children in b.");
    assert.equal(advice.length, 1);
    assert.match(advice[0] ?? "", /^Add the namespace to namespaces in operator\.yaml/);
  });

  it("shows the steps of the newest run that has them, and the traces of runs", () => {
    const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
    const timings = "+0.0 ms  12.1 ms  queue\n+12.1 ms  4.0 ms  handler";
    const runs = [RUN, { ...RUN, name: "second", timings, traceId }, { ...RUN, name: "third", timings }];
    const text = formatExplanation(explain(known({ runs })), NOW, plain);
    assert.match(text, /^steps of second:\n {2}\+0\.0 ms {2}12\.1 ms {2}queue\n {2}\+12\.1 ms/m);
    assert.ok(!text.includes("steps of third"));
    assert.match(text, new RegExp(`^ {2}✘ second .* {2}trace ${traceId}$`, "m"));
  });

  it("says how far a staged roll-out has come, as long as it has not come to its end", () => {
    const state = { program: "new", since: at(60), stage: "first" } as const;
    const rolloutIn = (rollout: Known["rollout"]) => explain(known({ rollout })).rollout;
    assert.equal(rolloutIn(undefined), undefined);
    assert.equal(rolloutIn({ ...state, stage: "done" }), undefined);
    assert.equal(rolloutIn(state), `the new version is asked about its first objects since ${at(60)}`);
    const halted = { ...state, stage: "rest", halted: { at: at(5), why: "three failed" } } as const;
    assert.equal(rolloutIn(halted), `halted about all objects since ${at(5)}: three failed`);
    const text = formatExplanation(explain(known({ rollout: halted })), NOW, (_, word) => word);
    assert.match(text, /^ {2}roll-out {2}halted about all objects/m);
  });

  it("is printed without anything that a terminal acts on", () => {
    const evil = "\u001b[2Joh\u202e no";
    const text = formatExplanation(
      explain(
        known({
          object: object({}, [ready({ message: evil }), { ...ready(), type: "Mine", message: evil }]),
          events: [event({ note: evil })],
          runs: [{ ...RUN, log: evil, message: evil, timings: evil }],
        }),
      ),
      NOW,
      plain,
    );
    assert.ok(!text.includes("\u001b") && !text.includes("\u202e"));
    assert.match(text, /^Memcached shop\/sessions: It is not Ready: its reconcile fails\.$/m);
    assert.match(text, /^ {2}message {3}oh no$/m);
    assert.match(text, /^✘ |^ {2}✘ memcached-sessions-2-abc {2}shop\/sessions {2}5\.0 s ago {2}oh no$/m);
    assert.match(text, /^what to do:\n {2}Fix the handler/m);
  });
});

describe("the place that standard error names", () => {
  for (const [language, text, place] of [
    ["Python", TRACEBACK, { file: "main.py", line: 12 }],
    [
      "Node",
      "TypeError: x\n    at reconcile (/argosy/handler/main.js:3:9)\n    at node:internal/x:1:1",
      { file: "main.js", line: 3 },
    ],
    ["an ES module", "    at file:///argosy/handler/lib/a.mjs:7:1", { file: "lib/a.mjs", line: 7 }],
    ["a compiler", "main.go:5:2: undefined: x", { file: "main.go", line: 5 }],
    ["nothing that is the author's", "    at node:internal/main:1:1", undefined],
    ["nothing", "it broke", undefined],
  ] as const) {
    it(`in ${language}`, () => assert.deepEqual(placeIn(text), place));
  }
});
