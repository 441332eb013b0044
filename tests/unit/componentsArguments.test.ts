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
import { titleOf } from "./support/titles";

describe("wrong arguments of the components", function () {
  this.timeout(60_000);
  const gears = sampleProgram([{ name: "gear" }]);

  const operators = (args: Partial<OperatorsArgs> = {}, opts: pulumi.ComponentResourceOptions = {}) =>
    new Operators("shop", { handlers: gears.definitions, ...args }, opts);

  const wrong: readonly (readonly [program: () => unknown, message: RegExp])[] = [
    [
      () => operators({ replicas: 0, runsKeptSeconds: -1, instalation: "x" } as Partial<OperatorsArgs>),
      /^Operators "shop": replicas is 0, outside of 1 to 5.*\nOperators "shop": runsKeptSeconds is -1.*\nOperators "shop": instalation is not a known field\. Did you mean installation\?$/,
    ],
    [
      () => operators({ argoEvents: "none" } as Partial<OperatorsArgs>),
      /^Operators "shop": argoEvents is not a known field\. Give it as platform: \{ argoEvents: \.\.\. \}\.$/,
    ],
    [
      () => new Operators("", { handlers: gears.root }),
      /^Operators: the name is empty\. Give one as the first argument/,
    ],
    [() => new ArgoPlatform(undefined as unknown as string), /^ArgoPlatform: the name is missing/],
    [
      () => operators({ placement: "prod" as unknown as object }),
      /placement .*Give any of registry, imagePullSecrets, nodeSelector, tolerations, affinity, priorityClassName, labels, annotations, serviceAccountAnnotations\.$/,
    ],
    [
      () => operators({ resources: { sensor: { limits: { memroy: "1Gi" } } } }),
      /resources\.sensor\.limits\.memroy is "memroy", not a resource\. Name one, for example memory/,
    ],
    [
      () => operators({ placement: { labels: { team: "x".repeat(64) } } }),
      /placement\.labels\.team is "x{64}", not the value of a label/,
    ],
    [
      () => operators({ pods: { operators: { gear: { annotations: { "a b": "c" } } } } }),
      /pods\.operators\.gear\.annotations\.a b is "a b", not the key of an annotation/,
    ],
    [() => new ArgoPlatform("argo", { namespace: "A" }), /^ArgoPlatform "argo": namespace is "A"/],
    [
      () => operators({ platform: { namespace: "argosy-system" } }),
      /^Operators "shop": platform: controllerNamespace is "argosy-system", the same as namespace/,
    ],
    [() => new Operators("ops", {} as OperatorsArgs), /handlers is missing\. Give the folder/],
    [() => new Operators("ops", { handlers: [] }), /handlers is neither a folder nor a list/],
    [
      () => operators({ installation: "other" }),
      /the operator gear was loaded for the installation "argosy", not for "other"/,
    ],
    [
      () => new Operators("ops", { handlers: "./examples", overrides: { memcachd: {} } }),
      /Did you mean memcached/,
    ],
    [
      () => operators({ overrides: { memcached: { namespaces: ["shop"] } } }),
      /overrides is given, and the operators are already loaded/,
    ],
    [
      () => operators({ platform: pulumi.output(samplePlatform()) as unknown as ArgoPlatformArgs }),
      /platform is not known yet.*Await the platform/,
    ],
    [
      () => operators({ platform: { argosyVersion: "0.0.1" } as unknown as ArgoPlatformArgs }),
      /platform has an argosyVersion, but not all fields.*0\.0\.1, which is older/,
    ],
    [
      () => operators({ platform: { cluster: { context: "x" } } }),
      /platform\.cluster is given.*argument cluster/,
    ],
  ];
  for (const [program, message] of wrong)
    it(`are refused: ${titleOf(message)}`, () => refused(program, message));

  it("in an operator's files are readable as well", async () => {
    addFiles(gears.root, { "broken/operator.yaml": "children: none\n" });
    await refused(
      () => new Operators("ops", { handlers: gears.root }),
      /broken\/operator\.yaml:1:\d+: children must be a list/,
    );
    assert.throws(() => loadOperators(path.join(gears.root, "nowhere")), /the folder is missing/);
  });

  it("are not taken for right ones: overrides of a folder's operators are heeded", async () => {
    const overrides = { memcached: { namespaces: ["shop"] } };
    const outsideEvents = { storage: "1Gi" };
    const { manifests } = await run(
      () => new Operators("ops", { handlers: "./examples", overrides, outsideEvents }),
    );
    assert.ok(manifests.some(({ kind, metadata }) => kind === "Role" && metadata.namespace === "shop"));
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
