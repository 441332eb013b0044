import assert from "node:assert/strict";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { ArgoPlatformArgs, OperatorsArgs } from "../../components/arguments/arguments";
import type {
  LoadOperatorsOptions,
  Operator,
  OutsideEvents,
  OutsideEventsArgs,
  OverridesArgs,
} from "../../components/index";
import { Operators } from "../../components/operators";
import { loadOperators } from "../../components/operatorsPlan";
import { addFiles } from "./operatorFolder";
import { refused } from "./support/componentRuns";
import { samplePlatform } from "./support/platform";
import { run } from "./support/program";
import { sampleProgram } from "./support/sampleOperators";

describe("wrong arguments of the components", function () {
  this.timeout(60_000);
  const gears = sampleProgram([{ name: "gear" }]);

  const operators = (args: Partial<OperatorsArgs> = {}, opts: pulumi.ComponentResourceOptions = {}) =>
    new Operators("shop", { handlers: gears.definitions, ...args }, opts);

  it("are readable for a program that uses a component directly, all of them at once", () =>
    refused(
      () => operators({ replicas: 0, runsKeptSeconds: -1, instalation: "x" } as Partial<OperatorsArgs>),
      /^Operators "shop": replicas is 0, outside of 1 to 5.*\nOperators "shop": runsKeptSeconds is -1.*\nOperators "shop": instalation is not a known field\. Did you mean installation\?$/,
    ));

  it("have a hint if they belong to the platform", () =>
    refused(
      () => operators({ argoEvents: "none" } as Partial<OperatorsArgs>),
      /^Operators "shop": argoEvents is not a known field\. Give it as platform: \{ argoEvents: \.\.\. \}\.$/,
    ));

  it("begin with the name, without which Pulumi can make nothing", async () => {
    await refused(
      () => new Operators("", { handlers: gears.root }),
      /^Operators: the name is empty\. Give one as the first argument/,
    );
    await refused(
      () => new ArgoPlatform(undefined as unknown as string),
      /^ArgoPlatform: the name is missing/,
    );
  });

  it("of placement name every field that it has", () =>
    refused(
      () => operators({ placement: "prod" as unknown as object }),
      /placement .*Give any of registry, imagePullSecrets, nodeSelector, tolerations, affinity, priorityClassName, labels, annotations, serviceAccountAnnotations\.$/,
    ));

  it("of a platform name the component and the argument", async () => {
    await refused(
      () => new ArgoPlatform("argo", { namespace: "A" }),
      /^ArgoPlatform "argo": namespace is "A"/,
    );
    await refused(
      () => operators({ platform: { namespace: "argosy-system" } }),
      /^Operators "shop": platform: controllerNamespace is "argosy-system", the same as namespace/,
    );
  });

  it("in an operator's files are readable as well", async () => {
    addFiles(gears.root, { "broken/operator.yaml": "children: none\n" });
    await refused(
      () => new Operators("ops", { handlers: gears.root }),
      /broken\/operator\.yaml:1:\d+: children must be a list/,
    );
    assert.throws(() => loadOperators(path.join(gears.root, "nowhere")), /the folder is missing/);
  });

  it("for handlers say what to give", async () => {
    await refused(() => new Operators("ops", {} as OperatorsArgs), /handlers is missing\. Give the folder/);
    await refused(() => new Operators("ops", { handlers: [] }), /handlers is neither a folder nor a list/);
    await refused(
      () => operators({ installation: "other" }),
      /the operator gear was loaded for the installation "argosy", not for "other"/,
    );
  });

  it("in overrides are told, and right ones are heeded", async () => {
    const overrides = { memcached: { namespaces: ["shop"] } };
    const outsideEvents = { storage: "1Gi" };
    const { manifests } = await run(
      () => new Operators("ops", { handlers: "./examples", overrides, outsideEvents }),
    );
    assert.ok(manifests.some(({ kind, metadata }) => kind === "Role" && metadata.namespace === "shop"));
    const wrong = { memcachd: {} };
    await refused(
      () => new Operators("ops", { handlers: "./examples", overrides: wrong }),
      /Did you mean memcached/,
    );
    await refused(() => operators({ overrides }), /overrides is given, and the operators are already loaded/);
  });

  it("for a platform say what to give", async () => {
    await refused(
      () => operators({ platform: pulumi.output(samplePlatform()) as unknown as ArgoPlatformArgs }),
      /platform is not known yet.*Await the platform/,
    );
    await refused(
      () => operators({ platform: { argosyVersion: "0.0.1" } as unknown as ArgoPlatformArgs }),
      /platform has an argosyVersion, but not all fields.*0\.0\.1, which is older/,
    );
    await refused(
      () => operators({ platform: { cluster: { context: "x" } } }),
      /platform\.cluster is given.*argument cluster/,
    );
  });
});

describe("functions of a program", () => {
  it("can name the types of their arguments and results by the package's own exports", () => {
    const sample = sampleProgram([{ name: "gear" }, { name: "press" }]);
    const overrides: Record<string, OverridesArgs> = { gear: { namespaces: ["team-a"] } };
    const load = (options: LoadOperatorsOptions): readonly Operator[] => loadOperators(sample.root, options);
    const small = (): OutsideEventsArgs => ({ storage: "1Gi" });
    const busOf = (events: OutsideEvents) => events.eventBus;
    const [gear] = load({ overrides, installation: "shop" });
    assert.deepEqual(gear?.namespaces, ["team-a"]);
    assert.equal(small().storage, "1Gi");
    assert.equal(typeof busOf, "function");
  });
});
