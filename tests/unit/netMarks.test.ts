import assert from "node:assert/strict";
import { OWNER_UID_LABEL } from "../../runtime/base/names";
import type { JsonObject, KubernetesObject, Manifest } from "../../runtime/base/objects";
import {
  type Act,
  type Ground,
  PARTS,
  type Scenario,
  THINGS,
  thing,
} from "../../tools/chaos/kills/scenarios";
import type { NetWorld } from "./support/net/netWorld";
import { runScenario } from "./support/net/runScenario";
import { withoutHistory } from "./support/net/withoutHistory";

const CONFIG_MAP = { apiVersion: "v1", kind: "ConfigMap" };
const SCENARIO: Scenario = {
  name: "marks",
  operator: () => ({ finalize: true }),
  acts: [
    thing(({ far }) => ({
      children: [
        { ...CONFIG_MAP, metadata: { name: "near" }, data: { v: "1" } },
        { ...CONFIG_MAP, metadata: { name: "far", namespace: far }, data: { v: "1" } },
        { ...PARTS, metadata: { name: "part" }, spec: { v: "1" } },
      ],
      status: { size: 3 },
    })),
  ],
};

const deleted: Act = ({ objects, namespace }) =>
  objects.delete({ ...THINGS, metadata: { name: "one", namespace } });

/** What a client makes of a text. Undefined: it is taken away. */
const DAMAGES: Readonly<Record<string, (text: string) => string | undefined>> = {
  "is taken away": () => undefined,
  "becomes empty": () => "",
  "becomes another": () => "x",
  "loses its first part": (text) => text.replace(/^[^/]*\//, ""),
  "loses its last part": (text) => text.replace(/\/[^/]*$/, ""),
};

/** A mark of the engine's: of which object, and the way to it. */
interface Mark {
  readonly what: string;
  readonly object: KubernetesObject;
  readonly way: readonly string[];
  readonly text: string;
}

/** Every label and annotation that the engine has set. */
function marksIn({ api }: NetWorld): Mark[] {
  const paths = ["api/v1/configmaps", "apis/kills.example.com/v1/parts", "apis/kills.example.com/v1/things"];
  const all = paths.flatMap((path) => api.list(new URL(`https://api/${path}`)).items);
  return all.flatMap((object) =>
    (["labels", "annotations"] as const).flatMap((map) =>
      Object.entries(object.metadata[map] ?? {}).map(([key, text]) => ({
        what: `${key} of ${object.kind} ${object.metadata.name}`,
        object,
        way: ["metadata", map, key],
        text,
      })),
    ),
  );
}

/** Who damages it: any client, or an earlier version of the operator. Only what the operator has applied counts as its mark. */
const DAMAGERS: Readonly<
  Record<string, (mark: Mark, text: string | undefined, ground: Ground) => Promise<unknown>>
> = {
  "any client": ({ object, way }, text, { objects }) => objects.patch(object, patchOf(way, text)),
  "an earlier version": ({ object, way }, text, { objects, operator }) => {
    const { apiVersion, kind, metadata, data, spec } = object;
    const { name, namespace, labels, annotations, ownerReferences } = metadata;
    const [, map = "", key = ""] = way;
    const whole = { labels: { ...labels }, annotations: { ...annotations } } as Record<string, JsonObject>;
    if (text === undefined) delete whole[map]?.[key];
    else Object.assign(whole[map] ?? {}, { [key]: text });
    const manifest = {
      apiVersion,
      kind,
      metadata: { name, namespace, ownerReferences, ...whole },
      data,
      spec,
    };
    return objects.apply(JSON.parse(JSON.stringify(manifest)) as Manifest, `argosy/argosy.${operator}`);
  },
};

function patchOf([step = "", ...rest]: readonly string[], value: string | undefined): JsonObject {
  return { [step]: rest.length > 0 ? patchOf(rest, value) : (value ?? null) } as JsonObject;
}

/** Also without who owns which field: whoever damages a mark stays an owner of what is around it. */
function plain(end: Record<string, unknown>): unknown {
  const text = JSON.stringify(withoutHistory(end), (key, value) =>
    key === "managedFields" ? undefined : value,
  );
  return JSON.parse(text);
}

describe("a client damages a mark of the engine's, and it is right again:", () => {
  /** What exists in the end, if this happens to the object when all is at rest. */
  async function endAfter(what: (place: NetWorld) => Promise<unknown>, isDeleted: boolean): Promise<unknown> {
    const { end } = await runScenario(SCENARIO, {
      after: async (place) => {
        await place.steady(what(place));
        if (isDeleted) await place.act(deleted);
        await place.rest();
        await place.resync();
      },
    });
    return plain(end);
  }

  const undisturbed = new Map<boolean, Promise<{ marks: readonly Mark[]; wanted: unknown }>>();
  /** The marks, and what exists in the end if no one damages them. */
  function undamaged(isDeleted: boolean) {
    let marks: Mark[] = [];
    const ending =
      undisturbed.get(isDeleted) ??
      endAfter(async (place) => {
        marks = marksIn(place);
      }, isDeleted).then((wanted) => ({ marks, wanted }));
    undisturbed.set(isDeleted, ending);
    return ending;
  }

  for (const [who, damage] of Object.entries(DAMAGERS)) {
    for (const [how, damaged] of Object.entries(DAMAGES)) {
      for (const isDeleted of [false, true]) {
        it(`by ${who} it ${how}${isDeleted ? ", and the object is deleted" : ""}`, async () => {
          const { marks, wanted } = await undamaged(isDeleted);
          assert.ok(marks.length > 3);
          for (const mark of marks) {
            const changed = damaged(mark.text);
            if (changed === mark.text) continue;
            // A child that names another owner is left to that one.
            if (isDeleted && changed !== undefined && mark.way.includes(OWNER_UID_LABEL)) continue;
            const end = await endAfter((place) => damage(mark, changed, place.ground), isDeleted);
            assert.deepEqual(end, wanted, `${mark.what}: ${mark.text}, ${changed}`);
          }
        });
      }
    }
  }
});
