import assert from "node:assert/strict";
import { ownedManifest } from "../../runtime/children/ownedManifest";
import type { Operator } from "../../runtime/definition/definition";
import type { KubernetesClient } from "../../runtime/kubernetes/client";
import { ApiError, ApiUnreachableError } from "../../runtime/kubernetes/errors";
import type { Selection } from "../../runtime/kubernetes/list";
import type { KubernetesObject } from "../../runtime/kubernetes/objects";
import type { Resource } from "../../runtime/kubernetes/resource";
import { listChildrenOfAll } from "../../runtime/pod/resync/listOfAll";
import { applied, CONFIG_MAPS, configMap, IDENTITY, MANAGER, operator, widget } from "./support/objects";

const JOBS: Resource = { apiVersion: "batch/v1", kind: "Job", plural: "jobs", namespaced: true };

describe("the children of all objects that a resync lists", () => {
  let server: KubernetesObject[];
  let lists: string[];
  let selectors: (string | undefined)[];
  let told: string[];
  /** What the API server answers first. */
  let problem: Error | undefined;

  const client = {
    list: async (
      { kind }: Resource,
      { namespace, metadataOnly, labelSelector }: Selection,
      onPage: (items: KubernetesObject[]) => void,
    ) => {
      selectors.push(labelSelector);
      lists.push(`${kind} in ${namespace ?? "all"}${metadataOnly ? ", metadata only" : ""}`);
      const error = problem;
      problem = undefined;
      if (error) throw error;
      if (namespace === "gone") throw new ApiError(403, { reason: "Forbidden" }, "GET");
      onPage(server.filter((object) => object.kind === kind));
      return "1";
    },
  } as unknown as KubernetesClient;

  beforeEach(() => {
    server = [];
    lists = [];
    selectors = [];
    told = [];
    problem = undefined;
  });

  const list = (more: Partial<Operator>) =>
    listChildrenOfAll({
      operator: operator(more),
      client,
      onError: (what) => void told.push(what),
    });
  const child = ({ apiVersion, kind }: Resource) =>
    applied(
      ownedManifest(
        { ...configMap(), apiVersion, kind },
        widget(),
        { ...JOBS, kind },
        `argosy.${IDENTITY.name}`,
      ),
      MANAGER,
    );

  it("are those of all namespaces but one that it may not read", async () => {
    server = [child(CONFIG_MAPS)];
    const children = [{ ...CONFIG_MAPS, update: "apply" as const }];
    const known = await list({ namespaces: ["gone", "shop"], children });
    assert.equal(known.of("widget-uid").length, 1);
    assert.deepEqual(told, ["children of kind ConfigMap in namespace gone"]);
  });

  for (const error of [
    new ApiUnreachableError("GET", new Error("connect ECONNREFUSED")),
    new ApiError(504, { message: "the API server is starting" }, "GET"),
  ])
    it(`are known although the API server is away for a moment: ${error.message}`, async () => {
      server = [child(CONFIG_MAPS)];
      problem = error;
      const known = await list({ children: [{ ...CONFIG_MAPS, update: "apply" }] });
      assert.equal(known.of("widget-uid").length, 1);
      assert.deepEqual(told, []);
    });

  it("are also those that were made under a former name of the operator", async () => {
    await list({ formerNames: ["boutique"], children: [{ ...CONFIG_MAPS, update: "apply" }] });
    assert.deepEqual(selectors, ["argosy.dev/child-of in (argosy.shop,argosy.boutique)"]);
  });

  it("are also those that are created once, of which nothing but metadata is read", async () => {
    server = [child(JOBS)];
    const known = await list({ children: [{ ...JOBS, update: "never" }] });
    assert.deepEqual(
      known.owners().map(({ uid }) => uid),
      ["widget-uid"],
    );
    assert.deepEqual(lists, ["Job in all, metadata only"]);
  });
});
