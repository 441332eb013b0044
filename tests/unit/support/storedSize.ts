import { setImmediate as nextTurn } from "node:timers/promises";
import type { KubernetesObject } from "../../../runtime/base/objects";
import { ChildStore } from "../../../runtime/observe/childStore";
import { CustomResources } from "../../../runtime/observe/customResources";
import { ownedManifest } from "../../../runtime/observe/marks";
import { writtenMemory } from "../../../runtime/remember/memory";
import { applied, CONFIG_MAPS, configMap, IDENTITY, MANAGER, WIDGETS, widget } from "./objects";

/** How many objects there are, each with a child. */
const OBJECTS = 5_000;
/** Those that come first, so that what is kept once does not count. */
const FIRST = 1_000;

// Prints, as JSON, how many bytes the stores keep for an object with its child, and how long the two are as JSON.
const client = { get: async () => undefined, now: () => 0 };
const objects = new CustomResources({ client, resource: WIDGETS, memoryIn: writtenMemory, emit: () => {} });
const children = new ChildStore({ client, operator: { ...IDENTITY, formerNames: [] }, ownerKind: WIDGETS });
const sinks = [objects.sink(undefined), children.sink(CONFIG_MAPS, undefined)];

/** The object of that number and its child, each as a watch gives it. */
function textsOf(at: number): string[] {
  const [name, uid] = [`widget-number-${at}`, `00000000-0000-4000-8000-${String(at).padStart(12, "0")}`];
  const status = {
    observedGeneration: 1,
    argosy: { uid, kinds: ["v1/ConfigMap"] },
    conditions: ["Ready", "Reconciling", "Stalled"].map((type) => ({
      type,
      status: "True",
      reason: "Ready",
      message: "",
    })),
  };
  const owner = widget(
    { name, uid, generation: 1, resourceVersion: String(1_000 + at) },
    { spec: { at }, status },
  );
  const child = applied(
    ownedManifest(configMap({ name }, { data: { at: String(at) } }), owner, CONFIG_MAPS, "argosy.shop"),
    MANAGER,
  );
  const metadata = {
    ...child.metadata,
    uid: uid.replace("4000", "4001"),
    resourceVersion: String(2_000 + at),
  };
  return [owner, { ...child, metadata }].map((object) => JSON.stringify(object));
}

async function take(from: number, to: number): Promise<number> {
  let length = 0;
  for (let at = from; at < to; at++) {
    for (const [index, text] of textsOf(at).entries()) {
      length += text.length;
      sinks[index]?.set(JSON.parse(text) as KubernetesObject, false);
    }
    // What is parsed is held until then.
    await nextTurn();
  }
  return length;
}

async function usedBytes(): Promise<number> {
  for (let time = 0; time < 3; time++) {
    await nextTurn();
    globalThis.gc?.();
  }
  return process.memoryUsage().heapUsed;
}

async function main(): Promise<void> {
  for (const sink of sinks) {
    sink.listing(false, "1");
    sink.listed("1");
  }
  await take(0, FIRST);
  const before = await usedBytes();
  const length = await take(FIRST, FIRST + OBJECTS);
  const bytes = (await usedBytes()) - before;
  if (children.size !== FIRST + OBJECTS) throw new Error(`${children.size} children are known`);
  console.log(JSON.stringify({ bytes: bytes / OBJECTS, length: length / OBJECTS }));
}

void main();
