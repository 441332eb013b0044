import type { KubernetesObject } from "../../../runtime/base/objects";
import { UseIndex } from "../../../runtime/observe/uses/useIndex";
import { widget } from "./objects";

/** How many objects there are, and how many names each gives. */
const [OBJECTS, NAMES] = [500, 500];

// Prints how many bytes the index keeps for each name that an object gives.
const use = { apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", name: "spec.mounts[*]" };
const index = new UseIndex({ mounts: use });
const used = () => {
  global.gc?.();
  return process.memoryUsage().heapUsed;
};
const before = used();
for (let at = 0; at < OBJECTS; at++) {
  const mounts = Array.from({ length: NAMES }, (_, nth) => `config-${at}-${nth}`);
  // As a watch gives it: each name is a text of its own.
  const text = JSON.stringify(widget({ name: `w-${at}` }, { spec: { mounts } }));
  index.set(`shop/w-${at}`, JSON.parse(text) as KubernetesObject);
}
process.stdout.write(String((used() - before) / OBJECTS / NAMES));
