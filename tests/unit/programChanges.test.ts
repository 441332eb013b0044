import assert from "node:assert/strict";
import { stringify } from "yaml";
import { changesBetween, nameOf } from "./support/changes";
import { assertEach } from "./support/lists";
import { type Run, roleOf, run } from "./support/program";
import {
  crdOf,
  EVERY_FORM,
  operatorsProgram,
  type Sample,
  type SampleProgram,
  sampleProgram,
} from "./support/sampleOperators";

/** What a preview would show for one change of an author's. */
describe("one change is one difference:", () => {
  const [gear, press] = EVERY_FORM as [Sample, Sample];
  const folders: string[] = [];
  let sample: SampleProgram;
  let original: Run;

  before(async () => {
    sample = withFiles({});
    original = await run(operatorsProgram(sample));
  });

  /** The same operators in a folder of their own. @param files what else their folders have, by their names */
  function withFiles(files: Readonly<Record<string, Sample["files"]>>): SampleProgram {
    const program = sampleProgram([gear, press].map((each) => ({ ...each, files: files[each.name] ?? {} })));
    folders.push(program.root);
    return program;
  }

  /** What such files change. */
  async function changesOf(files: Readonly<Record<string, Sample["files"]>>): Promise<string[]> {
    const changes = changesBetween(original, await run(operatorsProgram(withFiles(files))));
    return changes.map(roleOf);
  }

  it("nothing changed is nothing", async () => {
    assert.deepEqual(await changesOf({}), []);
  });

  it("an edited handler is its ConfigMap, and the runner that mounts it", async () => {
    assert.deepEqual(await changesOf({ gear: { "main.py": "print('otherwise')\n" } }), [
      "create argosy-gear-handler-files",
      "delete argosy-gear-handler-files",
      "update argosy-gear-runner",
    ]);
  });

  it("an edited handler in a pod of its own is its ConfigMap, and the template that mounts it", async () => {
    assert.deepEqual(await changesOf({ press: { "main.py": "print('otherwise')\n" } }), [
      "create argosy-press-handler-files",
      "delete argosy-press-handler-files",
      "update argosy-press-template",
    ]);
  });

  // After an update that failed, Pulumi still has what it would have deleted, and must not create it once more.
  it("a return to what was before finds every object of that name as the same resource", async () => {
    const edited = await run(operatorsProgram(withFiles({ gear: { "main.py": "print('otherwise')\n" } })));
    const now = new Map(edited.registrations.map((each) => [each.urn, nameOf(each)]));
    const renamed = original.registrations.filter(
      (each) => now.has(each.urn) && now.get(each.urn) !== nameOf(each),
    );
    assertEach(renamed, ({ name }) => name, []);
  });

  it("a new field of a CRD is the CRD", async () => {
    const properties = { spec: { type: "object", properties: { teeth: { type: "integer" } } } };
    assert.deepEqual(await changesOf({ gear: { "crd.yaml": stringify(crdOf("gear", properties)) } }), [
      "update argosy-gears.shop.example.com",
    ]);
  });

  it("a second operator is what it is made of, and its event on the way that all share", async () => {
    const first = sampleProgram([gear]);
    const alone = await run(operatorsProgram(first));
    const changes = changesBetween(alone, original);
    assert.ok(changes.length > 10);
    const shared = changes.filter((change) => !/^create argosy-press(-|s\.|$)/.test(change));
    assert.deepEqual(shared, [
      "create argosy-source-role-binding.team-a",
      "create argosy-source-role-binding.team-b",
      "create argosy-source-role.team-a",
      "create argosy-source-role.team-b",
      "update argosy-event-source",
      "update argosy-sensor",
    ]);
  });

  it("a renamed operator keeps its CRD, and Pulumi is told what it was called", async () => {
    const renamed = sample.definitions.map((definition) =>
      definition.name === "gear"
        ? { ...definition, name: "cog", formerNames: ["gear", "shop.wheel"] }
        : definition,
    );
    const after = await run(operatorsProgram({ ...sample, definitions: renamed }));
    const crds = ({ registrations }: Run) =>
      registrations
        .filter(({ inputs }) => inputs.kind === "CustomResourceDefinition")
        .map(({ urn }) => urn)
        .sort();
    assert.deepEqual(crds(after), crds(original));
    const aliases = after.registrations.filter((each) => each.aliases.length > 0);
    assertEach(aliases, ({ type, name, aliases: known }) => [type, name, known], [
      ["argosy:index:Operator", "argosy-cog", ["argosy-gear"]],
    ]);
    // What Pulumi makes of the alias, for everything below: see inheritedChildAlias in its deployment engine.
    const below = (run: Run, name: string) => {
      const parent = run.registrations.find((each) => each.name === name && !each.custom)?.urn;
      const parts = run.registrations.filter((each) => each.parent === parent);
      return parts.map((each) => roleOf(each.name).replace(new RegExp(`^${name}-`), "")).sort();
    };
    assert.ok(below(after, "argosy-cog").length > 10);
    assert.deepEqual(below(after, "argosy-cog"), below(original, "argosy-gear"));
  });

  it("more runners are the Deployment alone", async () => {
    const changes = changesBetween(original, await run(operatorsProgram(sample, { replicas: 3 })));
    assert.deepEqual(changes, ["update argosy-gear-runner", "update argosy-press-runner"]);
  });
});
