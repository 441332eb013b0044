import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { announceKind, sharedCluster } from "./support/cluster";
import { FAILURES, HANDLER_SOURCE, type PropertySpec } from "./support/propertyHandler";
import { PropertyWorld } from "./support/propertyWorld";
import { customResourceDefinitionOf, TestOperator } from "./support/testOperator";

/** More of them find more: a night's worth by `ARGOSY_PROPERTY_RUNS=200`. */
const RUNS = Number(process.env["ARGOSY_PROPERTY_RUNS"] ?? 2);
/** The operations follow from it. Their timing cannot be repeated. `ARGOSY_PROPERTY_SEED` tries others. */
const SEED = Number(process.env["ARGOSY_PROPERTY_SEED"] ?? 261123);
const OPERATIONS = 60;
const OBJECTS = 8;

const OPERATOR = {
  name: "property-test",
  handler: HANDLER_SOURCE,
  timeoutSeconds: 6,
  children: ["ConfigMap", "Secret", "Service"].map((kind) => ({ apiVersion: "v1", kind })),
};

/** Something that happens to a world. */
type Operation = (world: PropertyWorld) => unknown;

describe("under random interleavings", () => {
  announceKind(customResourceDefinitionOf(OPERATOR));
  let operator: TestOperator;

  before(async function () {
    this.timeout(0);
    operator = await TestOperator.install(await sharedCluster(), OPERATOR);
  });
  after(() => operator?.dispose());

  it(`every object is right once all is quiet (seed ${SEED})`, async function () {
    this.timeout(RUNS * 300_000);
    const property = fc.asyncProperty(operations(), async (all) => {
      const world = await PropertyWorld.begin(operator, OPERATOR);
      try {
        for (const operation of all) await operation(world);
        await world.assertQuiet();
      } finally {
        await world.end();
      }
    });
    await fc.assert(property, { numRuns: RUNS, seed: SEED, endOnFailure: true });
  });
});

function operations(): fc.Arbitrary<Operation[]> {
  const name = fc.nat(OBJECTS - 1).map((at) => `o-${at}`);
  const pick = fc.nat(9);
  const often = 10;
  const each = (weight: number, arbitrary: fc.Arbitrary<[string, Operation]>) => ({
    weight,
    arbitrary: arbitrary.map(([text, operation]) => named(text, operation)),
  });
  const of = (text: string, operation: Operation) => fc.constant<[string, Operation]>([text, operation]);
  const ofChild = (verb: "editChild" | "deleteChild" | "markChild" | "contest" | "autoscale") =>
    fc.tuple(name, pick).map<[string, Operation]>(([object, child]) => {
      return [`${verb} ${object} ${child}`, (world) => world[verb](object, child)];
    });
  return fc.array(
    fc.oneof(
      each(
        often * 2,
        fc.tuple(name, specs(fc.constant("good"))).map(([object, spec]) => {
          return [`put ${object} ${JSON.stringify(spec)}`, (world) => world.put(object, placed(spec, world))];
        }),
      ),
      each(
        3,
        fc.tuple(name, specs(failures())).map(([object, spec]) => {
          return [`fail ${object} ${spec.mode}`, (world) => world.put(object, placed(spec, world))];
        }),
      ),
      each(
        2,
        name.map((object) => [`delete ${object}`, (world) => world.delete(object)]),
      ),
      each(
        3,
        fc.tuple(name, specs(fc.constant("good"))).map(([object, spec]) => {
          const recreate = async (world: PropertyWorld) => {
            await world.delete(object);
            await world.put(object, placed(spec, world));
          };
          return [`recreate ${object} ${JSON.stringify(spec)}`, recreate];
        }),
      ),
      each(often / 2, ofChild("editChild")),
      each(often / 2, ofChild("deleteChild")),
      each(often / 2, ofChild("markChild")),
      each(
        3,
        name.map((object) => [`condition ${object}`, (world) => world.addCondition(object)]),
      ),
      ...(["addForeigner", "addForgery", "orphan", "touch"] as const).map((verb) =>
        each(
          2,
          name.map((object) => [`${verb} ${object}`, (world) => world[verb](object)]),
        ),
      ),
      each(2, ofChild("contest")),
      each(3, ofChild("autoscale")),
      each(
        1,
        of("renewFar", (world) => world.renewFar()),
      ),
      each(
        1,
        of("renewNear", (world) => world.renewNear()),
      ),
      each(
        1,
        of("rename", (world) => world.rename()),
      ),
      each(
        2,
        of("renew", (world) => world.renewHandler()),
      ),
      // Now and then no client writes: a new leader looks at all again, and would hide what the old one has lost.
      each(
        3,
        of("rest", (world) => world.assertQuiet()),
      ),
      each(
        1,
        of("restart", (world) => world.restart()),
      ),
      each(
        2,
        of("second", (world) => world.toggleSecond()),
      ),
      each(
        4,
        of("cut", (world) => world.cut()),
      ),
      each(
        often / 2,
        fc.nat(150).map((ms) => [`wait ${ms}`, () => sleep(ms)]),
      ),
    ),
    { minLength: OPERATIONS, maxLength: OPERATIONS },
  );
}

/** Specs that know of no namespace yet: "far" stands for the one of the world that they come into. */
function specs<Mode extends PropertySpec["mode"]>(mode: fc.Arbitrary<Mode>): fc.Arbitrary<PropertySpec> {
  return fc.record(
    {
      mode,
      value: fc.nat(3),
      maps: fc.nat(3),
      secret: fc.boolean(),
      service: fc.boolean(),
      far: fc.constant("far"),
      delayMs: fc.nat(60),
    },
    { requiredKeys: ["mode", "value", "maps", "secret", "service", "delayMs"] },
  );
}

function failures(): fc.Arbitrary<keyof typeof FAILURES> {
  return fc.constantFrom(...(Object.keys(FAILURES) as (keyof typeof FAILURES)[]));
}

function placed(spec: PropertySpec, { far }: PropertyWorld): PropertySpec {
  return spec.far ? { ...spec, far } : spec;
}

/** fast-check prints a function by this method: a failure tells what was done. */
function named(text: string, operation: Operation): Operation {
  return Object.assign(operation, { [fc.toStringMethod]: () => text });
}
