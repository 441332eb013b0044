import assert from "node:assert/strict";
import { mock } from "node:test";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { DATA_MODES, type DataMode } from "../../components/manifests/data";
import { Operators } from "../../components/operators";
import { platformOfStack, versionDifference } from "../../components/platform";
import { kinds, logged, named, refused } from "./support/componentRuns";
import { samplePlatform } from "./support/platform";
import { type Run, roleOf, run } from "./support/program";
import { EVERY_FORM, type SampleProgram, sampleProgram, webhookFor } from "./support/sampleOperators";

describe("the components", function () {
  this.timeout(60_000);
  let gears: SampleProgram;
  let presses: SampleProgram;
  let everyForm: SampleProgram;
  let sample: SampleProgram;
  before(() => {
    gears = sampleProgram([{ name: "gear" }]);
    presses = sampleProgram([{ name: "press" }]);
    everyForm = sampleProgram(EVERY_FORM);
    // With an event bus of its own, and with memories.
    sample = sampleProgram([
      { name: "gear", on: webhookFor("Gear") },
      { name: "warden", watch: { apiVersion: "v1", kind: "ConfigMap" } },
    ]);
  });

  const operators = (args: Partial<OperatorsArgs> = {}, opts: pulumi.ComponentResourceOptions = {}) =>
    new Operators("shop", { handlers: gears.definitions, ...args }, opts);

  it("cause no warning of Pulumi about missing properties if a program returns them whole", async () => {
    const returned = async (program: () => object) => {
      let outputs: unknown;
      const lines = await logged(async () => {
        outputs = (await run(program)).outputs;
      });
      assert.doesNotMatch(lines, /Undefined value/);
      return Object.keys(outputs as object);
    };
    const some = await returned(() => operators({ platform: samplePlatform() }));
    assert.ok(
      some.includes("eventPath") && !some.includes("argoPlatform") && !some.includes("outsideEvents"),
    );
    const whole = await returned(() => new ArgoPlatform("argo"));
    assert.ok(whole.includes("viewer"));
    const half = await returned(() => new ArgoPlatform("argo", { argoWorkflows: "none" }));
    assert.ok(half.includes("platform") && !half.includes("viewer"));
  });

  describe("by default", () => {});

  describe("data", () => {
    const guarded = ({ registrations }: Run) => [
      ...new Set(
        registrations.filter((each) => each.protect && each.custom).map(({ inputs }) => inputs.kind),
      ),
    ];

    /** What Pulumi does with each CRD and each namespace that leaves the program, by its kind as Pulumi knows it. */
    const fates = ({ registrations }: Run) =>
      Object.fromEntries(
        registrations
          .filter(({ inputs, custom }) => custom && HOLDS_DATA.includes(inputs.kind as string))
          .map(({ type, retainOnDelete, protect }) => [type.split(":").at(-1), { retainOnDelete, protect }]),
      );
    const HOLDS_DATA = ["CustomResourceDefinition", "Namespace"];
    const handlers = () => sample.definitions;

    it("stays in the cluster by default, as patches that a later up makes of the same objects", async () => {
      const outsideEvents = { storage: "1Gi" };
      const made = await run(() => operators({ handlers: handlers(), outsideEvents }));
      const kept = { retainOnDelete: true, protect: false };
      assert.deepEqual(fates(made), { CustomResourceDefinitionPatch: kept, NamespacePatch: kept });
      const others = made.registrations.filter(({ type }) => !type.endsWith("Patch"));
      assert.ok(others.every(({ retainOnDelete }) => !retainOnDelete));
      const patches = made.registrations.filter(({ type }) => type.endsWith("Patch"));
      const managers = patches.map(({ inputs }) => annotationsOf(inputs)["pulumi.com/patchFieldManager"]);
      assert.equal(new Set(managers).size, 1);
      assert.match(String(managers[0]), /^argosy-.{22}$/);
    });

    it("is deleted, or refused to be, only if the program says so", async () => {
      const fate = async (data: DataMode) =>
        fates(await run(() => operators({ handlers: handlers(), outsideEvents: { storage: "1Gi" }, data })));
      const all = (protect: boolean) => ({
        CustomResourceDefinition: { retainOnDelete: false, protect },
        Namespace: { retainOnDelete: false, protect },
      });
      assert.deepEqual(await fate("delete"), all(false));
      assert.deepEqual(await fate("protect"), all(true));
    });

    it("takes fields from others only in a cluster that is looked into, where the objects of others are refused", async () => {
      const forces = async (program: () => void) => {
        const { registrations } = await run(program);
        const patches = registrations.filter(({ type }) => type.endsWith("Patch"));
        return new Set(patches.map(({ inputs }) => annotationsOf(inputs)["pulumi.com/patchForce"]));
      };
      assert.deepEqual(await forces(() => void operators()), new Set(["true"]));
      const provider = () => new k8s.Provider("elsewhere", { kubeconfig: "{}" });
      assert.deepEqual(await forces(() => void operators({}, { provider: provider() })), new Set(["false"]));
    });

    it("may be kept or not from one up to the next: each resource is known by both types", async () => {
      for (const data of DATA_MODES) {
        const { registrations } = await run(() => operators({ data }));
        const holders = registrations.filter(
          ({ inputs, custom }) => custom && HOLDS_DATA.includes(inputs.kind as string),
        );
        const types = holders.map(({ type, aliasTypes }) => [type, ...aliasTypes].map(base));
        assert.ok(types.length > 3 && types.every(([own, other]) => own !== undefined && own === other));
        assert.ok(holders.every(({ type, aliasTypes }) => !aliasTypes.includes(type)));
      }
    });
    const base = (type: string) => type.replace(/Patch$/, "");

    it("of the platform alone is the platform's", async () => {
      const made = await run(() => operators({ platform: { data: "protect" } }));
      assert.deepEqual(guarded(made).sort(), ["CustomResourceDefinition", "Namespace"]);
      assert.ok(!named(made, "shop-gears.shop.example.com").protect);
      assert.ok(!named(made, "shop-event-bus").protect);
    });

    it("of the operators is the platform's as well, unless the platform says otherwise", async () => {
      const all = await run(() => operators({ data: "protect" }));
      assert.deepEqual(guarded(all).sort(), ["CustomResourceDefinition", "EventBus", "Namespace"]);
      const own = await run(() => operators({ data: "protect", platform: { data: "keep" } }));
      assert.ok(!named(own, "shop-platform-namespace-operators").protect);
      assert.ok(named(own, "shop-gears.shop.example.com").protect);
    });

    it("as an option of the component protects everything but immutable ConfigMaps, which an edit replaces", async () => {
      const handlers = sample.definitions;
      const outsideEvents = { storage: "1Gi" };
      const check = async (args: Partial<OperatorsArgs>) => {
        const { registrations } = await run(() =>
          operators({ handlers, outsideEvents, ...args }, { protect: true }),
        );
        const stack = registrations.find(({ type }) => type === "pulumi:pulumi:Stack");
        const namesOf = (some: typeof registrations) => some.map(({ name }) => roleOf(name));
        const left = namesOf(registrations.filter((each) => each !== stack && !each.protect));
        assert.deepEqual(left, namesOf(registrations.filter(({ inputs }) => inputs.immutable)));
        assert.ok(left.includes("shop-engine") && left.includes("shop-gear-handler-files"), left.join());
      };
      for (const data of DATA_MODES) await check({ data });
    });
  });

  describe("two in one program", () => {
    const billing = (args: Partial<OperatorsArgs>, opts: pulumi.ComponentResourceOptions = {}) =>
      new Operators("billing", { handlers: presses.definitions, ...args }, opts);
    const otherInstallation = () => presses.definitions.map((each) => ({ ...each, installation: "billing" }));

    it("share a platform, with an installation each, and register nothing twice", async () => {
      const made = await run(() => {
        const { platform } = operators();
        billing({ handlers: otherInstallation(), platform });
      });
      const identities = kinds(made);
      assert.equal(new Set(identities).size, identities.length);
      assert.ok(identities.includes("EventBus billing") && identities.includes("EventBus argosy"));
      const controller = named(made, "shop-platform").urn;
      const bus = named(made, "billing");
      assert.ok(
        made.registrations.some(({ parent, dependencies }) => parent === bus.urn && dependencies.length > 0),
      );
      assert.ok(controller);
    });

    it("of one installation are refused", () =>
      refused(() => {
        const { platform } = operators();
        billing({ platform });
      }, /Operators "billing": the installation "argosy" already belongs to Operators "shop" in this program\. Give each/));

    it("of one installation are refused in a plugin too, where each has its own clients of Pulumi's engine", async () => {
      const { getMonitor, getEngine } = pulumi.runtime;
      const clientOf = (address: string) => () => ({ getChannel: () => ({ getTarget: () => address }) });
      const inPlugin = () => {
        Object.assign(pulumi.runtime, {
          getMonitor: clientOf("127.0.0.1:1"),
          getEngine: clientOf("127.0.0.1:2"),
        });
        const { platform } = operators();
        billing({ platform });
      };
      try {
        await refused(inPlugin, /the installation "argosy" already belongs to Operators "shop"/);
      } finally {
        Object.assign(pulumi.runtime, { getMonitor, getEngine });
      }
    });

    it("with a platform each in the same namespace are refused", () =>
      refused(() => {
        operators();
        billing({ handlers: otherInstallation() });
      }, /the namespace "argosy" of a platform already belongs to ArgoPlatform "shop-platform".*Use that platform/));

    it("with an operator of one name in one namespace are refused", () =>
      refused(() => {
        const { platform } = operators();
        const handlers = gears.definitions.map((each) => ({ ...each, installation: "billing" }));
        billing({ handlers, platform });
      }, /an operator "gear" in the namespace "argosy" already belongs to Operators "shop"/));

    it("with one CRD are refused, whatever else they are called, and with one kind that they watch they are not", async () => {
      const cogs = gears.definitions.map((each) => ({ ...each, name: "cog", installation: "billing" }));
      await refused(() => {
        const { platform } = operators();
        billing({ handlers: cogs, platform });
      }, /^Operators "billing": the CRD gears\.shop\.example\.com already belongs to Operators "shop" in this program\. A kind has one operator in a cluster\./);
      const watching = sample.definitions.filter(({ watch }) => watch !== undefined);
      const others = watching.map((each) => ({ ...each, name: "guard", installation: "billing" }));
      const made = await run(() => {
        const { platform } = operators({ handlers: watching });
        billing({ handlers: others, platform });
      });
      assert.ok(kinds(made).includes("Deployment guard-runner"));
    });

    it("with a platform each and one namespace of controllers are refused", () =>
      refused(() => {
        new ArgoPlatform("argo");
        new ArgoPlatform("own", { namespace: "own", argoEvents: "share", argoWorkflows: "share" });
      }, /^ArgoPlatform "own": the namespace "argosy-system" of controllers already belongs to ArgoPlatform "argo" in this program\. Give one of the two another controllerNamespace, or set its createNamespaces to false\.\n.*the controller of argoEvents in the namespace "argosy-system" already belongs/));

    it("with a platform each may name one namespace of controllers if a platform has none of its own", async () => {
      const made = await run(() => {
        new ArgoPlatform("argo");
        new ArgoPlatform("own", { namespace: "own", argoEvents: "adopt", argoWorkflows: "adopt" });
      });
      assert.ok(kinds(made).includes("Namespace own"));
    });

    it("with half of Argo each may not both create one namespace of controllers", () =>
      refused(() => {
        new ArgoPlatform("argo", { argoWorkflows: "none" });
        new ArgoPlatform("own", { namespace: "own", argoEvents: "none" });
      }, /^ArgoPlatform "own": the namespace "argosy-system" of controllers already belongs to ArgoPlatform "argo" [^\n]*$/));

    it("with half of Argo each may name one namespace of controllers", async () => {
      const made = await run(() => {
        new ArgoPlatform("argo", { argoWorkflows: "none" });
        new ArgoPlatform("own", { namespace: "own", argoEvents: "none", createNamespaces: false });
      });
      assert.ok(kinds(made).includes("Deployment workflow-controller"));
    });

    it("in two clusters have nothing to do with each other", async () => {
      const both = () => {
        operators({ cluster: { context: "one" } });
        billing({ handlers: gears.definitions, cluster: { context: "two" } });
      };
      const { registrations } = await run(both, { preview: true });
      const runners = registrations.filter(({ inputs }) =>
        JSON.stringify(inputs.metadata)?.includes("gear-runner"),
      );
      assert.ok(runners.length > 10);
      assert.equal(runners.length % 2, 0);
      const again = () => {
        operators({ cluster: { context: "one" } });
        billing({ handlers: gears.definitions, cluster: { context: "one" } });
      };
      await refused(again, /the installation "argosy" already belongs to/);
    });
  });

  describe("a platform", () => {
    it("is made from arguments, and used if it exists", async () => {
      const made = await run(() => void operators({ platform: { namespace: "work" } }));
      assert.ok(kinds(made).includes("Namespace work"));
      const used = await run(() => void operators({ platform: samplePlatform({ namespace: "work" }) }));
      assert.ok(!kinds(used).some((each) => each.startsWith("Namespace")));
      const component = await run(
        () => void operators({ platform: new ArgoPlatform("argo", { namespace: "work" }) }),
      );
      assert.equal(kinds(component).filter((each) => each === "Namespace work").length, 1);
      const dependent = component.registrations.filter(({ dependencies }) =>
        dependencies.includes(named(component, "argo-namespace-operators").urn),
      );
      assert.ok(dependent.some(({ name }) => name.startsWith("shop-")));
    });

    it("that is made has the options of its operators, and its placement field by field", async () => {
      const made = await run(() =>
        operators({
          placement: { registry: "mirror.example.com", nodeSelector: { disk: "ssd" } },
          platform: { placement: { nodeSelector: { disk: "none" } } },
        }),
      );
      const text = JSON.stringify(named(made, "shop-platform-argo-events-controller").inputs);
      assert.match(text, /"image":"mirror\.example\.com\/.*"nodeSelector":\{"disk":"none"\}/);
      assert.doesNotMatch(text, /ssd/);
    });

    it("of another version says which is older, and what to do", async () => {
      const older = samplePlatform({ argosyVersion: "0.0.9" });
      const lines = await logged(() => run(() => void operators({ platform: older })));
      assert.match(
        lines,
        /Operators "shop": the platform was deployed by Argosy 0\.0\.9, which is older than this program's .*Update @argosy-dev\/argosy to .* in the platform's program/,
      );
      assert.match(versionDifference("9.0.0") ?? "", /newer than this program's.*in this program/);
      assert.match(versionDifference("0.1.0-rc.1") ?? "", /older/);
      assert.equal(versionDifference(samplePlatform().argosyVersion), undefined);
    });

    it("of another stack is awaited, and another version's says so", async () => {
      const stackOutputs = (platform: unknown) => ({ stackOutputs: () => ({ platform }) });
      const give = () => platformOfStack("acme/platform/prod");
      const { outputs } = await run(give, stackOutputs(samplePlatform()));
      assert.deepEqual(outputs, samplePlatform());
      await assert.rejects(
        run(give, stackOutputs({ argosyVersion: "0.0.1", namespace: "x" })),
        /the stack acme\/platform\/prod: the platform was deployed by Argosy 0\.0\.1, which is older/,
      );
    });

    it("of another stack is not that of this stack, which would delete it", async () => {
      for (const stack of ["test", "organization/argosy/test"])
        await assert.rejects(
          run(() => platformOfStack(stack), { stackOutputs: () => ({ platform: samplePlatform() }) }),
          /the stack .*test is this one\. Name the stack that has the platform\./,
        );
    });

    it("of another stack is taken, even if that stack keeps its outputs secret", async () => {
      const secret = mock.method(pulumi.StackReference.prototype, "getOutputDetails", async () => ({
        secretValue: samplePlatform(),
      }));
      try {
        const { outputs } = await run(() => platformOfStack("acme/platform/prod"), {
          stackOutputs: () => ({}),
        });
        assert.deepEqual(outputs, samplePlatform());
      } finally {
        secret.mock.restore();
      }
    });

    it("of another stack is read once in a run of a program, however often it is asked for, and again in the next run", async () => {
      const asked: string[] = [];
      const program = async () => {
        const first = await platformOfStack("acme/platform/prod");
        const others = ["acme/platform/prod", "acme/platform/dev"].map(platformOfStack);
        return [first, ...(await Promise.all(others))].map(({ namespace }) => namespace);
      };
      const stackOutputs = (stack: string) => {
        asked.push(stack);
        return { platform: samplePlatform({ namespace: `n${asked.length}` }) };
      };
      assert.deepEqual((await run(program, { stackOutputs })).outputs, ["n1", "n1", "n2"]);
      assert.deepEqual((await run(program, { stackOutputs })).outputs, ["n3", "n3", "n4"]);
      assert.deepEqual(
        asked,
        [1, 2].flatMap(() => ["acme/platform/prod", "acme/platform/dev"]),
      );
    });

    it("of another stack is read even if the program has its own StackReference to that stack", async () => {
      const asked: string[] = [];
      const program = () => {
        void new pulumi.StackReference("acme/platform/prod");
        return platformOfStack("acme/platform/prod");
      };
      const stackOutputs = (stack: string) => {
        asked.push(stack);
        return { platform: samplePlatform() };
      };
      assert.deepEqual((await run(program, { stackOutputs })).outputs, samplePlatform());
      assert.deepEqual(asked, ["acme/platform/prod", "acme/platform/prod"]);
    });
  });

  it("say plainly who gets rights in the whole cluster", async () => {
    const lines = await logged(() => run(() => void operators({ handlers: everyForm.definitions })));
    assert.match(
      lines,
      /the operator gear gets rights in the whole cluster: to create, change and delete Deployment in every namespace\. Set its field namespaces to narrow them\./,
    );
    assert.doesNotMatch(lines, /operator robot gets rights in the whole cluster/);
  });

  it("say whose children others can forge, once, unless a guard prevents that", async () => {
    const linesWith = (guards: { children?: boolean }) =>
      logged(() => run(() => void operators({ handlers: everyForm.definitions, guards })));
    const note = /can pass objects off as children of ([^:]*): guards: \{ children: true \} prevents that/;
    assert.match((await linesWith({})).match(note)?.[1] ?? "", /^gear/);
    assert.doesNotMatch(await linesWith({ children: true }), note);
  });

  it("have typed outputs", async () => {
    let argo: ArgoPlatform | undefined;
    const made = await run(() => {
      const { argoPlatform, operators: deployed, eventPath } = operators({ handlers: everyForm.definitions });
      argo = argoPlatform;
      return {
        argoServer: argoPlatform?.argoServer?.metadata.name,
        namespaces: [
          argoPlatform?.namespace?.metadata.name,
          argoPlatform?.controllerNamespace?.metadata.name,
        ],
        controllers: [
          argoPlatform?.argoEventsController?.metadata.name,
          argoPlatform?.workflowController?.metadata.name,
        ],
        people: [argoPlatform?.viewer?.metadata.name, argoPlatform?.submitter?.metadata.name],
        eventBus: eventPath?.eventBus.id,
        runners: Object.values(deployed).map(({ runner }) => runner?.metadata.name),
        accounts: Object.values(deployed).map((each) => [
          each.serviceAccount.metadata.name,
          each.handlerServiceAccount?.metadata.name,
        ]),
        templates: Object.values(deployed).map(({ workflowTemplate }) => workflowTemplate?.metadata.name),
      };
    });
    assert.ok(argo);
    const outputs = await pulumi.output(made.outputs as object);
    const resolved = await new Promise((resolve) => pulumi.output(outputs).apply(resolve));
    assert.deepEqual(resolved, {
      argoServer: "argo-server",
      namespaces: ["argosy", "argosy-system"],
      controllers: ["argo-events-controller", "workflow-controller"],
      people: ["argosy-viewer", "argosy-submitter"],
      eventBus: "shop-event-bus-id",
      runners: ["gear-runner", "press-runner", "robot-runner", "saw-runner"],
      accounts: [
        ["gear-runner", undefined],
        ["press-runner", undefined],
        ["robot-runner", "robot-handler"],
        ["saw-runner", "saw-handler"],
      ],
      templates: ["gear", "press", "robot", "saw"],
    });
  });
});

function annotationsOf(inputs: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  return (inputs as { metadata: { annotations: Record<string, string> } }).metadata.annotations;
}
