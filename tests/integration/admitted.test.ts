import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { parse } from "yaml";
import { cacheDirectory, programPaths } from "../../cli/controlPlane/cache";
import { admitted } from "../../definition/customResource";
import { readByKubectl } from "../../definition/readByKubectl";
import type { Json, JsonObject, Manifest } from "../../runtime/base/objects";
import { ApiError } from "../../runtime/kubernetes/errors";
import { temporaryFolder } from "../support/temporaryFolder";
import { widgetCrd, widgetVersion } from "../unit/operatorFolder";
import { anySchema, anyValue } from "./support/anySchema";
import { announceKind, sharedCluster } from "./support/cluster";
import { askForCluster } from "./support/sharedCluster";

const SEED = Number(process.env.ARGOSY_SEED ?? 45);
const SCHEMAS = 150;
const OBJECTS_OF_EACH = 12;

/** Many schemas in one CRD: each is a field of the spec. */
const schemas = fc.sample(anySchema, { seed: SEED, numRuns: SCHEMAS }).map((each) => structuredClone(each));
const group = "admitted.example.com";
const customResource = { group, version: "v1", kind: "Trial", plural: "trials", namespaced: true };
const properties = Object.fromEntries(schemas.map((schema, index) => [`p${index}`, schema]));
const beta = { a: { type: "string" }, old: { type: "string", default: "o" } };
const other = {
  type: "object",
  properties: { a: { type: "string" }, new: { type: "string", default: "n" } },
};
const crd = widgetCrd(
  {
    group,
    names: { kind: "Trial", plural: "trials", singular: "trial" },
    versions: [
      widgetVersion({}, { spec: { type: "object", properties }, other }),
      widgetVersion({ name: "v1beta1", storage: false }, { other: { type: "object", properties: beta } }),
    ],
  },
  { metadata: { name: `trials.${group}` } },
);
const resource = { apiVersion: `${group}/v1`, kind: "Trial", plural: "trials", namespaced: true };

describe("argosy test checks an object as the API server does:", function () {
  this.timeout(180_000);
  announceKind(crd as unknown as Manifest);
  before(async function () {
    this.timeout(0);
    await sharedCluster();
  });

  it(`the same verdict and the same content, for ${SCHEMAS} schemas (ARGOSY_SEED=${SEED})`, async () => {
    const { api } = await sharedCluster();
    const namespace = await api.newNamespace("admitted");
    const differences: string[] = [];
    let accepted = 0;
    for (const [index, schema] of schemas.entries()) {
      const values = fc.sample(anyValue(schema), { seed: SEED + index, numRuns: OBJECTS_OF_EACH });
      await Promise.all(
        values.map(async (value, at) => {
          const spec = { [`p${index}`]: structuredClone(value) };
          const manifest = {
            ...{ apiVersion: resource.apiVersion, kind: "Trial" },
            metadata: { name: `a${at}`, namespace },
            spec,
          };
          const ours = admitted(manifest as JsonObject, { crd, customResource });
          const theirs = await api.client
            .create(resource, manifest as unknown as Manifest, { dryRun: true, fieldManager: "trial" })
            .catch((error: unknown) => {
              if (error instanceof ApiError) return error;
              throw error;
            });
          if (!(theirs instanceof ApiError)) accepted += 1;
          const difference = differenceOf(ours, theirs as ApiError | { readonly spec?: Json });
          if (difference !== undefined)
            differences.push(`${JSON.stringify(schema)}\n  ${JSON.stringify(value)}\n  ${difference}`);
        }),
      );
    }
    assert.equal(differences.length, 0, `${differences.length}:\n${differences.slice(0, 20).join("\n")}`);
    const all = SCHEMAS * OBJECTS_OF_EACH;
    assert.ok(accepted > all / 4 && accepted < (all * 3) / 4, `${accepted} of ${all} were accepted`);
  });

  it("an object of another version becomes what a reader of the stored version gets", async () => {
    const { api } = await sharedCluster();
    const namespace = await api.newNamespace("admitted");
    const apiVersion = `${group}/v1beta1`;
    const manifest = {
      ...{ apiVersion, kind: "Trial", metadata: { name: "a", namespace } },
      other: { a: "x", old: "y" },
    };
    await api.client.create({ ...resource, apiVersion }, manifest as unknown as Manifest);
    const read = await api.client.get(resource, manifest.metadata);
    const { object, flaw } = admitted(manifest, { crd, customResource });
    assert.deepEqual([flaw, object.apiVersion, object.other], [undefined, read?.apiVersion, read?.["other"]]);
  });
});

describe("a text without quotes in YAML is refused if kubectl reads another value:", function () {
  this.timeout(60_000);
  let folder: string;
  before(() => {
    folder = temporaryFolder();
  });

  it(`3,000 texts of the characters of numbers, and words (ARGOSY_SEED=${SEED})`, async () => {
    const character = fc.constantFrom(..."0123456789_-+.:eExXoObBaf");
    const word = fc.constantFrom(
      "yes",
      "Yes",
      "yEs",
      "y",
      "Y",
      "no",
      "N",
      "on",
      "oN",
      "OFF",
      "true",
      "~",
      "null",
    );
    const plain = fc
      .oneof({ weight: 30, arbitrary: fc.string({ unit: character, minLength: 1, maxLength: 7 }) }, word)
      // What is no scalar in YAML, no number in JSON, or too large for one.
      .filter((each) => !/^[-:]$|^-+$|:$|^[-+]?\.(inf|nan)/i.test(each) && !/^---|e[-+]?_*\d{3}/i.test(each));
    const texts = fc.sample(plain, { seed: SEED, numRuns: 3_000 });
    const file = path.join(folder, "a.yaml");
    const head = `apiVersion: ${group}/v1\nkind: Trial\nmetadata: { name: a, namespace: default }\ndata:\n`;
    writeFileSync(file, `${head}${texts.map((text, index) => `  k${index}: ${text}\n`).join("")}`);
    const { stdout } = await promisify(execFile)(
      programPaths(cacheDirectory()).kubectl,
      [
        ...["--kubeconfig", await askForCluster(), "create", "--dry-run=client", "--validate=false"],
        ...["-o", "json", "-f", file],
      ],
      { maxBuffer: 10_000_000 },
    );
    const read = (JSON.parse(stdout) as { data: Record<string, Json> }).data;
    const ours = (parse(readFileSync(file, "utf8"), { schema: "core" }) as { data: Record<string, Json> })
      .data;
    const differences = texts.flatMap((text, index) => {
      const [one, other] = [ours[`k${index}`], read[`k${index}`]];
      const wanted = JSON.stringify(one) === JSON.stringify(other) ? undefined : other;
      return readByKubectl(text) === wanted ? [] : [{ text, one, other, said: readByKubectl(text) }];
    });
    assert.deepEqual(differences, []);
  });
});

function differenceOf(
  { object, flaw }: ReturnType<typeof admitted>,
  theirs: ApiError | { readonly spec?: Json },
): string | undefined {
  if (theirs instanceof ApiError)
    return flaw === undefined ? `only the API server refuses it: ${theirs.message}` : undefined;
  if (flaw !== undefined) return `only argosy test refuses it: ${flaw}`;
  try {
    assert.deepEqual(object.spec, theirs.spec);
    return undefined;
  } catch {
    return `${JSON.stringify(object.spec)} is ${JSON.stringify(theirs.spec)} in the cluster`;
  }
}
