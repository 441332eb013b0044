import assert from "node:assert/strict";
import fc from "fast-check";
import type { KubernetesObject, ManagedFieldsEntry } from "../../runtime/base/objects";
import { applyEntry, ownedValues } from "../../runtime/kubernetes/managedFields";
import { withinCpuTime } from "../support/cpuTime";
import { configMap, entryOf, MANAGER, observed } from "./support/objects";

describe("ownedValues", () => {
  const ours = (fieldsV1: ManagedFieldsEntry["fieldsV1"]): ManagedFieldsEntry => ({
    manager: MANAGER,
    operation: "Apply",
    ...(fieldsV1 && { fieldsV1 }),
  });
  const theirs = (fieldsV1: ManagedFieldsEntry["fieldsV1"]): ManagedFieldsEntry => ({
    manager: "kubectl",
    operation: "Update",
    ...(fieldsV1 && { fieldsV1 }),
  });

  function of(content: object, entry: ManagedFieldsEntry, ...others: ManagedFieldsEntry[]): string {
    const object: KubernetesObject = observed("Thing", content, { managedFields: [entry, ...others] });
    return JSON.stringify(ownedValues(object, entry));
  }

  const fields = ours({
    "f:spec": { "f:a": {}, "f:list": { 'k:{"name":"x"}': { "f:v": {} } }, "f:set": { 'v:"s"': {} } },
  });
  const spec = { a: 1, list: [{ name: "x", v: 1 }], set: ["s"] };

  it("stay what they are if others write fields of their own", () => {
    const more = {
      ...spec,
      b: 2,
      list: [
        { name: "y", v: 9 },
        { name: "x", v: 1, w: 2 },
      ],
      set: ["t", "s"],
    };
    assert.equal(of({ spec: more }, fields, theirs({ "f:spec": { "f:b": {} } })), of({ spec }, fields));
  });

  for (const [what, changed] of Object.entries({
    "a value": { ...spec, a: 2 },
    "a value in an entry": { ...spec, list: [{ name: "x", v: 2 }] },
    "an entry that is gone": { ...spec, list: [] },
    "a member of a set that is gone": { ...spec, set: [] },
    "a field that is gone": { list: spec.list, set: spec.set },
  })) {
    it(`differ by ${what}`, () => assert.notEqual(of({ spec: changed }, fields), of({ spec }, fields)));
  }

  it("have the order that the object has, and not that of managedFields", () => {
    const entry = { ".": {}, "f:name": {} };
    const list = ours({ "f:list": { 'k:{"name":"a"}': entry, 'k:{"name":"b"}': entry } });
    const named = (...names: string[]) => ({ list: names.map((name) => ({ name })) });
    assert.equal(of(named("b", "theirs", "a"), list), JSON.stringify(named("b", "a")));
  });

  it("do not count what others put into an empty map of ours", () => {
    const empty = ours({ "f:data": {} });
    const put = theirs({ "f:data": { ".": {}, "f:b": {} } });
    assert.equal(of({ data: { b: "1" } }, empty, put), of({ data: { b: "2" } }, empty, put));
    assert.notEqual(of({ data: { b: "1" } }, empty), of({ data: { b: "2" } }, empty));
  });

  it("are found soon in a list of very many entries, which the author of an object may have written", () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `name-${index}`);
    const owned = ours({
      "f:list": Object.fromEntries(
        names.toReversed().map((name) => [`k:{"name":"${name}"}`, { "f:value": {} }]),
      ),
      "f:set": Object.fromEntries(names.toReversed().map((name) => [`v:"${name}"`, {}])),
    });
    const list = names.map((name) => ({ name, value: name }));
    // It takes some tens of milliseconds, and took ten seconds when each entry was looked for in all of the list.
    const values = withinCpuTime(3_000, () => of({ list, set: names }, owned));
    assert.ok(values === JSON.stringify({ list: names.map((value) => ({ value })), set: names }));
    assert.ok(values !== of({ list: list.slice(1), set: names }, owned));
    assert.ok(values !== of({ list, set: names.slice(1) }, owned));
  });

  it("tell the entries of a list apart by all their keys, and by the types of these", () => {
    const owned = ours({ "f:ports": { 'k:{"port":80,"protocol":"UDP"}': { "f:name": {} } } });
    const port = (name: string, more: object) => ({ name, port: 80, protocol: "UDP", ...more });
    const others = [
      port("tcp", { protocol: "TCP" }),
      port("text", { port: "80" }),
      port("map", { port: {} }),
      1,
    ];
    const value = of({ ports: [...others, port("dns", {}), port("again", {})] }, owned);
    assert.match(value, /"dns"/);
    assert.doesNotMatch(value, /tcp|text|map|again/);
  });

  it("are nothing without an entry", () => {
    assert.equal(ownedValues(observed("Thing"), undefined), undefined);
  });

  it("differ for any two manifests that differ, and are the same for the same", () => {
    const data = fc.dictionary(fc.constantFrom("a", "b"), fc.constantFrom("1", "2"), { minKeys: 1 });
    const valuesOf = (content: object) => {
      const manifest = configMap({}, { data: content });
      const entry = entryOf(manifest, MANAGER);
      return JSON.stringify([entry.fieldsV1, ownedValues(observed("ConfigMap", { data: content }), entry)]);
    };
    fc.assert(
      fc.property(data, data, (one, other) => {
        const isSame = Object.keys({ ...one, ...other }).every((key) => one[key] === other[key]);
        const sorted = (map: Record<string, string>) => Object.fromEntries(Object.entries(map).sort());
        assert.equal(valuesOf(sorted(one)) === valuesOf(sorted(other)), isSame);
      }),
    );
  });
});

describe("applyEntry", () => {
  const find = (entry: ManagedFieldsEntry, subresource?: string) =>
    applyEntry(
      observed("ConfigMap", {}, { managedFields: [{ manager: "kubectl" }, entry] }),
      MANAGER,
      subresource,
    );
  const entry: ManagedFieldsEntry = { manager: MANAGER, operation: "Apply" };

  it("finds what we applied, and none of our other writes", () => {
    assert.equal(find(entry), entry);
    assert.equal(find({ ...entry, operation: "Update" }), undefined);
    assert.equal(find({ ...entry, subresource: "status" }), undefined);
    assert.equal(find({ ...entry, manager: "argosy/other" }), undefined);
  });

  it("finds what we have applied to a subresource, and not to the object itself", () => {
    const ofStatus = { ...entry, subresource: "status" };
    assert.equal(find(ofStatus, "status"), ofStatus);
    assert.equal(find(entry, "status"), undefined);
  });
});
