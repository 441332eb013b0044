import assert from "node:assert/strict";
import fc from "fast-check";
import { buildEventPath } from "../../components/manifests/eventPath/eventPath";
import type { ManifestSet } from "../../components/manifests/metadata";
import { outsideEventsOf, outsideOptions } from "../../components/manifests/outside/options";
import { buildOutside } from "../../components/manifests/outside/outside";
import { INSTALLATION } from "../../definition/fields/identity";
import type { Manifest, OutsideEvent } from "../../runtime/program";
import { operatorOptions } from "./operatorManifests";
import { assertNone } from "./support/lists";
import { operator } from "./support/objects";

const MANY = Array.from({ length: 25 }, (_, number) => `namespace-${number}`);
const event = (type: string) =>
  ({ name: type, type, source: {}, id: ["body.id"], when: {}, spec: {} }) as unknown as OutsideEvent;
const ENGINE: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "engine", namespace: "argosy" },
};

/** The names, by kind, that an installation's objects have, and that no other installation of the namespace may have. */
function namesOf(installation: string): readonly string[] {
  const options = {
    ...operatorOptions(),
    name: installation,
    installation,
    eventBus: { replicas: 1 },
    intakes: 1,
  };
  // Two of these operators are too many for one pair of an EventSource and a Sensor.
  const operators = ["one", "two", "three"].map((name) => operator({ name, installation, namespaces: MANY }));
  const path = buildEventPath(operators, options, ENGINE);
  const on = [event("webhook"), event("kafka")];
  const outside = buildOutside(
    outsideEventsOf([operator({ installation, on })]),
    outsideOptions(options),
    ENGINE,
  );
  const sets: ManifestSet[] = [
    path.accounts,
    path.keeper,
    outside.accounts,
    outside.intake,
    outside.eventSources,
  ];
  const manifests = [
    ...sets.flatMap((set) => Object.values(set)),
    ...[path.eventBus, outside.eventBus, outside.sensor],
    ...path.shards.flatMap((shard) => [shard.sensor, shard.eventSource]),
  ];
  return manifests.map(({ kind, metadata: { namespace, name } }) => `${kind} ${namespace} ${name}`);
}

const WORD = fc.constantFrom(
  "a",
  "outside",
  "single",
  "shard",
  "2",
  "3",
  "event",
  "bus",
  "source",
  "sensor",
  "keeper",
  "intake",
  "caller",
);
const NAME = fc
  .array(WORD, { minLength: 1, maxLength: 4 })
  .map((words) => words.join("-"))
  .filter((name) => INSTALLATION.safeParse(name).success);

describe("the names of two installations in one namespace", function () {
  this.timeout(60_000);

  it("are all different", () => {
    const known = new Map<string, readonly string[]>();
    const names = (installation: string) => {
      const all = known.get(installation) ?? namesOf(installation);
      known.set(installation, all);
      return all;
    };
    assert.ok(names("a").filter((name) => name.startsWith("Sensor")).length > 2);
    fc.assert(
      fc.property(NAME, WORD, fc.array(WORD, { maxLength: 2 }), (one, word, words) => {
        const other = [one, word, ...words].join("-");
        if (!INSTALLATION.safeParse(other).success) return;
        assertNone(names(one), (name) => names(other).includes(name));
      }),
      {
        examples: [
          ["a", "2", []],
          ["a", "outside", []],
          ["a", "shard", ["2"]],
          ["a", "outside", ["single"]],
        ],
      },
    );
  });
});
