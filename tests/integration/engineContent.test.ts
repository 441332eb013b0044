import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { readJson, writeJson } from "../../runtime/base/json";
import type { JsonObject, KubernetesObject } from "../../runtime/base/objects";
import { eventually } from "../support/eventually";
import { configMap, inNamespace } from "./support/manifests";
import { answering, statusOf, useOperator } from "./support/useOperator";

/** Ends of lines to some readers, control characters, halves of tags: what YAML, shells and templates stumble over. */
const TEXTS = [
  "a\u2028b\u2029c\u0085d \u2028 e",
  "\u0001\u0007\u001b[31m\u007f\u009b\ufeff\uffff",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: what a shell would expand
  "\"'\\ \\n \\u0000\n\r\t${HOME} $(id) `id`",
  "{{workflow.name}} {{=1+1}} {{",
  "日本語 🦄 e\u0301 \u202e",
];

describe("whatever an object holds", function () {
  this.timeout(60_000);
  const bench = useOperator({ name: "content-test" });

  it("reaches the handler, and what it answers its children and its status, character by character", async () => {
    const data = Object.fromEntries(TEXTS.map((text, index) => [`text-${index}`, text]));
    const plan = { answer: { ...answering(configMap("texts", data)).answer, status: { texts: data } } };
    const ready = await bench.applied("texts", plan);
    assert.deepEqual(statusOf(ready)["texts"], data);
    const child = await bench.api.get(inNamespace(configMap("texts"), bench.namespace));
    assert.deepEqual(child["data"], data);
  });

  it("and so do keys that every JavaScript object has, which are restored, under a name as long as can be", async () => {
    const name = ["a", "b", "c", "d"]
      .map((letter) => letter.repeat(60))
      .join(".")
      .padEnd(253, "e");
    // In source code, the first of them would set a prototype.
    const data = JSON.parse('{"__proto__":"1","constructor":"2","toString":"3"}') as Record<string, string>;
    const plan = { answer: { ...answering(configMap(name, data)).answer, status: { texts: data } } };
    const ready = await bench.applied(name, plan);
    assert.deepEqual(statusOf(ready)["texts"], data);
    const child = inNamespace(configMap(name), bench.namespace);
    assert.deepEqual((await bench.api.get(child))["data"], data);
    await bench.api.patch(child, { data: JSON.parse('{"__proto__":"theirs","constructor":null}') });
    await eventually(async () => assert.deepEqual((await bench.api.get(child))["data"], data));
    await bench.api.delete(ready);
    await eventually(() => bench.api.assertGone(child));
  });

  it("and so does an integer of 64 bits, unrounded", async () => {
    const number = "9223372036854775807";
    const raw = `{"id":"$ID","children":[],"status":{"number":${number}}}`;
    const spec = readJson(`{"number":${number},"raw":${JSON.stringify(raw)}}`) as JsonObject;
    const ready: KubernetesObject = await bench.applied("number", spec);
    assert.match(writeJson(ready["spec"]), new RegExp(`"number":${number}\\b`));
    assert.match(writeJson(ready["status"]), new RegExp(`"number":${number}\\b`));
    const asked = readFileSync(path.join(bench.operator.operator.folder, "calls.jsonl"), "utf8");
    assert.match(asked, new RegExp(`"number":${number}\\b`));
  });
});
