import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { IMAGES, imageReference } from "../../components/manifests/images";
import { RESOURCES } from "../../components/manifests/resources";
import { WORKLOAD_KEYS } from "../../components/manifests/workloads";
import { FUNCTION_IMAGES } from "../../runtime/definition/definition";

const page = readFileSync(path.resolve(__dirname, "../../docs/customize.md"), "utf8");

describe("docs/customize.md", () => {
  it("has the default of every image", () => {
    const ours = Object.entries(IMAGES).map(([name, image]) => [name, imageReference(image)]);
    const rows = [...ours, ...Object.entries(FUNCTION_IMAGES)].map(
      ([name, image]) => `| \`${name}\` | \`${image}\` |`,
    );
    assert.deepEqual(rowsBelow("## Images"), rows);
  });

  it("has the default size of every container", () => {
    const rows = Object.entries(RESOURCES).map(
      ([name, { requests, limits }]) =>
        `| \`${name}\` | ${requests.cpu} | ${requests.memory} | ${limits.memory} |`,
    );
    assert.deepEqual(rowsBelow("## Sizes"), rows);
  });

  it("names every part that has pods, and every part that a transform can change", () => {
    for (const [heading, parts] of [
      ["## Pods", WORKLOAD_KEYS.pods.filter((part) => part !== "operators")],
      ["## Transforms", WORKLOAD_KEYS.transform],
    ] as const) {
      const [, list = ""] = /The parts are ([\s\S]*?)\.\n\n/.exec(sectionOf(heading)) ?? [];
      const named = [...list.replace(/\([^)]*\)/g, "").matchAll(/`(\w+)`/g)].map(([, part]) => part);
      assert.deepEqual(named, parts, heading);
    }
  });
});

function sectionOf(heading: string): string {
  const [section = ""] = page.split(`${heading}\n`)[1]?.split("\n## ") ?? [];
  assert.ok(section !== "", heading);
  return section;
}

function rowsBelow(heading: string): string[] {
  return sectionOf(heading)
    .split("\n")
    .filter((line) => line.startsWith("| `"));
}
