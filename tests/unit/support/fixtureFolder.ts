import { runFixtures } from "../../../cli/fixtures/runFixtures";
import type { OperatorDefinition } from "../../../definition/schema";
import {
  addFiles,
  loadDefinition,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "../operatorFolder";

const OPEN = { "x-kubernetes-preserve-unknown-fields": true };

/** A fixture about an object of this metadata. */
export const fixture = (fields: string, metadata = "name: a, uid: u, generation: 3") =>
  `object: { metadata: { ${metadata} } }\n${fields}\n`;

/** A fixture about an object in a namespace. */
export const namespaced = (fields: string) => fixture(fields, "name: a, namespace: ns");

/** A handler whose answer is an expression over the request and the number of requests so far. */
export const handler = (answer: string) => `
    let count = 0;
    require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
      const request = JSON.parse(line);
      const { id } = request;
      delete request.id;
      count++;
      console.log(JSON.stringify({ id, ...(${answer}) }));
    });`;

/** The folder of an operator with fixtures. */
export class FixtureFolder {
  readonly root = writeFolder({
    "crd.yaml": widgetCrd({ versions: [widgetVersion({}, { spec: { type: "object", ...OPEN } })] }),
  });

  /** Runs all fixtures of the folder. @param fixtures files to add before, by their names */
  run(code: string, fixtures: Record<string, string>, more: Partial<OperatorDefinition> = {}) {
    const { root } = this;
    addFiles(root, { "main.js": code });
    for (const [name, content] of Object.entries(fixtures)) addFiles(root, { [`fixtures/${name}`]: content });
    const command = { image: "node:22-alpine", command: ["node", "main.js"] };
    return runFixtures(
      loadDefinition(root, {
        ...widgetDefinition,
        name: "widget",
        handler: command,
        timeoutSeconds: 5,
        ...more,
      }),
    );
  }
}
