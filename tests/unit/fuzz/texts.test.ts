import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { bytesOf } from "../../../components/manifests/resources";
import { fingerprint } from "../../../runtime/base/json";
import {
  conditionsIn,
  isObjectName,
  type KubernetesObject,
  microTimeOf,
  timeOf,
} from "../../../runtime/base/objects";
import { clean, LineSplitter } from "../../../runtime/base/text";
import { conflictWith, provenOwner } from "../../../runtime/observe/ownership";
import { whyNotReady } from "../../../runtime/observe/readiness";
import { formatLogLine } from "../../../runtime/programs/logLine";
import { HintError, parseHint } from "../../../runtime/programs/resident/hints";
import { RunTargetError, runTargetOf } from "../../../runtime/programs/workflows/runTarget";
import { openTasksOf } from "../../../runtime/programs/workflows/taskSet";
import { isOver } from "../../../runtime/report/workflows";
import { fuzz } from "../support/fuzz";
import { hostileJson, hostileObject, hostileText, mostly } from "../support/hostile";
import { MANAGER, observed, operator, WIDGETS } from "../support/objects";

/** What a terminal acts on, or a reader of lines takes for their end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not occur
const ACTIVE = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\p{Cs}/u;

describe("fuzz: a text of others", () => {
  fuzz(
    "is harmless for a terminal once it is clean, and so when it is cleaned again",
    hostileText,
    (text) => {
      const cleaned = clean(text);
      assert.doesNotMatch(cleaned, ACTIVE);
      assert.ok(cleaned.length <= 1024);
      assert.equal(clean(cleaned), cleaned);
    },
  );

  fuzz("is one line of the log, whose fields are what they were", hostileText, (text) => {
    const line = formatLogLine("info", text, { log: text });
    assert.doesNotMatch(line.slice(0, -1), ACTIVE);
    assert.equal(line.indexOf("\n"), line.length - 1);
    const { message, log, level } = JSON.parse(line);
    assert.deepEqual([message, log, level], [text, text, "info"]);
  });

  const hint = mostly({ namespace: fc.constantFrom("shop", "a.b"), name: fc.constantFrom("one", "a.b-c") });
  const body = fc.oneof(
    hostileText,
    hostileJson.map((value) => JSON.stringify(value)),
    hint.map((value) => JSON.stringify(value)),
  );
  fuzz("is a hint with names that Kubernetes accepts, or no hint", body, (text) => {
    try {
      const { namespace, name } = parseHint(text, operator());
      assert.match(`${namespace} ${name}`, /^[a-z0-9][-a-z0-9.]* [a-z0-9][-a-z0-9.]*$/);
    } catch (error) {
      assert.ok(error instanceof HintError, String(error));
    }
  });

  const digits = fc.tuple(
    fc.nat(),
    fc.constantFrom("", ".5", ".", "e3", "-"),
    fc.constantFrom("", "Ki", "Mi", "G", "m", "X"),
  );
  fuzz(
    "is a size in whole bytes, or none",
    fc.oneof(
      hostileText,
      digits.map((parts) => parts.join("")),
    ),
    (text) => {
      try {
        const bytes = bytesOf(text);
        assert.ok(Number.isSafeInteger(bytes) && bytes >= 0, String(bytes));
      } catch (error) {
        assert.ok(error instanceof RangeError, String(error));
      }
    },
  );

  const moment = fc.integer({ min: 0, max: 4_102_444_800_000 });
  fuzz("that is a time of ours is read as the moment that it was written of", moment, (milliseconds) => {
    const date = new Date(milliseconds);
    assert.equal(Date.parse(timeOf(date)), Math.floor(milliseconds / 1000) * 1000);
    assert.equal(Date.parse(microTimeOf(date)), milliseconds);
  });

  const pieces = fc.array(
    fc.array(fc.oneof(fc.constantFrom(0, 10, 13, 0xff, 0xc3), fc.nat({ max: 255 })), { maxLength: 8 }),
    { maxLength: 12 },
  );
  fuzz("has the same lines however it is cut, NULs and broken characters included", pieces, (chunks) => {
    const splitter = new LineSplitter();
    const lines = chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk)));
    const whole = new LineSplitter();
    assert.deepEqual(lines, whole.push(Buffer.from(chunks.flat())));
    assert.equal(lines.length, chunks.flat().filter((byte) => byte === 10).length);
  });
});

describe("fuzz: an object of others", () => {
  const reference = mostly({
    apiVersion: fc.constant(WIDGETS.apiVersion),
    kind: fc.constant("Widget"),
    name: fc.constant("widget"),
    uid: fc.constant("widget-uid"),
    controller: fc.boolean(),
  });
  const metadata = fc.record(
    {
      labels: fc.dictionary(hostileText, hostileText),
      annotations: fc.dictionary(hostileText, hostileText),
      ownerReferences: fc.array(
        reference.filter((each) => typeof each["apiVersion"] === "string"),
        { maxLength: 2 },
      ),
      managedFields: fc.array(
        fc.record({
          manager: fc.constantFrom(MANAGER, "somebody"),
          operation: fc.constantFrom("Apply", "Update"),
          fieldsV1: mostly({
            "f:metadata": mostly({
              "f:labels": mostly({
                "f:argosy.dev/owner-uid": hostileJson,
                "f:argosy.dev/child-of": hostileJson,
              }),
              "f:ownerReferences": mostly({ 'k:{"uid":"uid"}': hostileJson }),
            }),
          }),
        }),
        { maxLength: 2 },
      ),
    },
    { requiredKeys: [] },
  );
  const condition = mostly({
    type: fc.constantFrom("Ready", "Failed", "Progressing"),
    status: fc.constantFrom("True", "False"),
    reason: hostileText,
  });
  const status = mostly({
    conditions: fc.array(condition, { maxLength: 3 }),
    phase: hostileText,
    replicas: fc.nat(),
    observedGeneration: fc.nat(),
  });
  const kind = fc.constantFrom(
    "Deployment",
    "DaemonSet",
    "Job",
    "Pod",
    "Service",
    "PersistentVolumeClaim",
    "Thing",
  );
  const apiVersion = fc.constantFrom("v1", "apps/v1", "batch/v1", "shop.example.com/v1");
  const content = mostly({ spec: hostileObject, status });

  fuzz(
    "is ready or not, whatever its status is",
    fc.tuple(kind, apiVersion, content),
    ([is, version, fields]) => {
      const why = whyNotReady(observed(is, { ...fields, apiVersion: version }));
      assert.ok(why === undefined || typeof why === "string");
    },
  );

  fuzz("has the conditions of its status that are conditions", status, (value) => {
    for (const { type, status: is, reason = "" } of conditionsIn(value))
      assert.equal(`${type}${is}${reason}`.length >= 0, true);
  });

  fuzz("has an owner only by an entry of ours", metadata, (fields) => {
    const child = observed("ConfigMap", {}, fields as unknown as KubernetesObject["metadata"]);
    const isApplied = child.metadata.managedFields?.some(
      (entry) => entry.manager === MANAGER && entry.operation === "Apply",
    );
    if (provenOwner(child, WIDGETS, [MANAGER])) assert.ok(isApplied, "no entry is ours");
    const adopted = child.metadata.annotations?.["argosy.dev/adopt"];
    if (!isApplied && (adopted === undefined || adopted === "false"))
      assert.ok(conflictWith(child, "uid", WIDGETS, [MANAGER]));
  });

  const parameter = mostly({
    name: fc.constantFrom("namespace", "name", "uid", "object"),
    value: hostileText,
  });
  const workflow = mostly({
    spec: mostly({
      arguments: mostly({ parameters: fc.array(parameter, { maxLength: 4 }) }),
      workflowTemplateRef: mostly({ name: hostileText }),
    }),
    status: mostly({ phase: hostileText }),
  });
  fuzz("that is a Workflow names an object, an example, or says what is wrong", workflow, (fields) => {
    const submitted = observed("Workflow", fields);
    isOver(submitted);
    try {
      const target = runTargetOf(submitted, operator({ namespaces: ["shop"] }));
      if (target.kind === "trial") return;
      assert.equal(target.name.namespace, "shop");
      assert.ok(isObjectName(target.name.name));
      assert.ok(target.uid === undefined || typeof target.uid === "string");
    } catch (error) {
      assert.ok(error instanceof RunTargetError, String(error));
    }
  });

  const tasks = fc.dictionary(
    hostileText,
    mostly({ plugin: mostly({ argosy: mostly({ operator: fc.constantFrom("shop", "other") }) }) }),
    { maxKeys: 3 },
  );
  const taskSet = mostly({ spec: mostly({ tasks }), status: mostly({ nodes: hostileObject }) });
  fuzz("that is a WorkflowTaskSet has tasks of this operator, or none", taskSet, (fields) => {
    const set = observed("WorkflowTaskSet", fields);
    for (const id of openTasksOf(set, "shop")) {
      const { tasks: all } = set["spec"] as {
        tasks: Record<string, { plugin: { argosy: { operator: unknown } } }>;
      };
      assert.ok(Object.hasOwn(all, id));
      assert.equal(all[id]?.plugin.argosy.operator, "shop");
    }
  });
});

describe("fuzz: fingerprints", () => {
  fuzz(
    "are equal where two values are, and differ where one place of them does",
    fc.tuple(hostileJson, hostileJson),
    ([one, other]) => {
      assert.equal(fingerprint(one), fingerprint(JSON.parse(JSON.stringify(one))));
      const [first, second] = [one, other].map((value) => JSON.parse(JSON.stringify(value)));
      assert.equal(fingerprint(one) === fingerprint(other), isDeepStrictEqual(first, second));
      assert.notEqual(fingerprint([one, other]), fingerprint([[one, other]]));
      assert.equal(fingerprint({ one, other }), fingerprint({ other, one }));
    },
  );
});
