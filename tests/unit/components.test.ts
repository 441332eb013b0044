import assert from "node:assert/strict";
import path from "node:path";
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { ArgoPlatformArgs, OperatorsArgs } from "../../components/arguments";
import { loadOperators, Operators } from "../../components/operators";
import { platformOfStack, versionDifference } from "../../components/platform";
import { checkInstallation } from "../../preflight/checkInstallation";
import { addFiles, removeFolder } from "./operatorFolder";
import { fakeLook, found } from "./support/fakeLook";
import { samplePlatform } from "./support/platform";
import { type Registration, type Run, run } from "./support/program";
import { EVERY_FORM, type SampleProgram, sampleProgram } from "./support/sampleOperators";

/**
 * What Pulumi logs while something runs. As in Pulumi (sdk/nodejs/log/index.ts), messages come one after another, and one
 * about a resource comes when that is registered.
 */
async function logged(act: () => Promise<unknown>): Promise<string> {
  const lines: string[] = [];
  const { info, warn } = pulumi.log;
  let last: Promise<unknown> = Promise.resolve();
  const keep = (line: string, resource?: pulumi.Resource) => {
    const urn = resource?.urn as unknown as { promise(): Promise<string> } | undefined;
    last = Promise.all([last, urn?.promise()]).then(() => lines.push(line));
    return last;
  };
  Object.assign(pulumi.log, { info: keep, warn: keep });
  try {
    await act();
    await last;
  } finally {
    Object.assign(pulumi.log, { info, warn });
  }
  return lines.join("\n");
}

describe("the components", function () {
  this.timeout(60_000);
  let gears: SampleProgram;
  let presses: SampleProgram;
  let everyForm: SampleProgram;
  before(() => {
    gears = sampleProgram([{ name: "gear" }]);
    presses = sampleProgram([{ name: "press" }]);
    everyForm = sampleProgram(EVERY_FORM);
  });
  after(() => {
    for (const { root } of [gears, presses, everyForm]) removeFolder(root);
  });

  const kinds = ({ manifests }: Run) => manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`);
  const named = ({ registrations }: Run, name: string): Registration => {
    const registration = registrations.find((each) => each.name === name);
    assert.ok(registration, `${name} is not registered`);
    return registration;
  };
  const operators = (args: Partial<OperatorsArgs> = {}, opts: pulumi.ComponentResourceOptions = {}) =>
    new Operators("shop", { handlers: gears.definitions, ...args }, opts);
  const refused = (program: () => unknown, message: RegExp) =>
    assert.rejects(run(program), (error) => {
      assert.ok(pulumi.RunError.isInstance(error), `not shown without a stack trace: ${error}`);
      assert.match(error.message, message);
      return true;
    });

  it("make Pulumi warn of nothing that they do not have, where a program returns them whole", async () => {
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

  describe("by default", () => {
    it("take a folder and nothing else", async () => {
      const { manifests } = await run(() => new Operators("ops", { handlers: gears.root }));
      assert.ok(manifests.length > 50);
    });

    it("are what the shipped program makes", async () => {
      const made = await run(() => operators());
      assert.ok(kinds(made).includes("EventBus argosy"));
      assert.ok(kinds(made).includes("Namespace argosy-system"));
      assert.ok(kinds(made).includes("Deployment gear-runner"));
    });

    it("begin every name with the component's, and ArgoPlatform keeps its own", async () => {
      const made = await run(() => operators());
      assert.deepEqual(
        made.registrations
          .filter(({ type, name }) => type !== "pulumi:pulumi:Stack" && !/^shop(-|$)/.test(name))
          .map(({ name }) => name),
        [],
      );
      const platform = await run(() => new ArgoPlatform("argo"));
      assert.equal(named(platform, "argo").type, "argosy:index:ArgoPlatform");
      const ownNames = platform.registrations.filter(({ type }) => type !== "pulumi:pulumi:Stack");
      assert.ok(ownNames.every(({ name }) => /^argo(-|$)/.test(name)));
    });
  });

  describe("protect", () => {
    const guarded = ({ registrations }: Run) => [
      ...new Set(
        registrations.filter((each) => each.protect && each.custom).map(({ inputs }) => inputs.kind),
      ),
    ];

    it("of the platform alone is kept", async () => {
      const made = await run(() => operators({ platform: { protect: true } }));
      assert.deepEqual(guarded(made).sort(), ["CustomResourceDefinition", "Namespace"]);
      assert.ok(!named(made, "shop-gears.shop.example.com").protect);
      assert.ok(!named(made, "shop-event-bus").protect);
    });

    it("of the operators is the platform's as well, unless the platform says otherwise", async () => {
      const all = await run(() => operators({ protect: true }));
      assert.deepEqual(guarded(all).sort(), ["CustomResourceDefinition", "EventBus", "Namespace"]);
      const own = await run(() => operators({ protect: true, platform: { protect: false } }));
      assert.ok(!named(own, "shop-platform-namespace-operators").protect);
      assert.ok(named(own, "shop-gears.shop.example.com").protect);
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

  describe("the cluster", () => {
    it("is a provider of its own, which everything is made with", async () => {
      const made = await run(() => void operators({ cluster: { context: "prod" } }));
      const provider = named(made, "shop-cluster");
      assert.equal(provider.type, "pulumi:providers:kubernetes");
      assert.equal(provider.inputs.context, "prod");
    });

    it("has no such context: the preview says so, once", async () => {
      const lines = await logged(() =>
        run(() => void operators({ cluster: { kubeconfig: "{}", context: "prod" } })),
      );
      assert.equal(lines.match(/the kubeconfig has no context "prod"/g)?.length, 1);
    });

    it("of an explicit provider cannot be looked into: nothing is checked, and the preview says so, once", async () => {
      const lines = await logged(() =>
        run(() => void operators({}, { provider: new k8s.Provider("own", { kubeconfig: "{}" }) })),
      );
      assert.equal(lines.match(/nothing is checked in the cluster/g)?.length, 1);
      // A message about the component, which is registered after the check.
      assert.match(lines, /the operator gear gets rights in the whole cluster/);
    });

    it("may be that of a Provider of another copy of @pulumi/kubernetes", async () => {
      const file = require.resolve("@pulumi/kubernetes/provider");
      const ours = require.cache[file];
      delete require.cache[file];
      const { Provider } = require("@pulumi/kubernetes/provider") as typeof k8s;
      require.cache[file] = ours;
      assert.notEqual(Provider, k8s.Provider);
      const program = (Provider: typeof k8s.Provider) => () => {
        const provider = new Provider("own", { kubeconfig: "{}" });
        const { platform } = new ArgoPlatform("argo", {}, { provider });
        operators({ platform }, { providers: [provider] });
      };
      const withTheirs = await run(program(Provider));
      assert.ok(withTheirs.registrations.length > 20);
      assert.deepEqual(withTheirs.registrations, (await run(program(k8s.Provider))).registrations);
      assert.deepEqual(
        withTheirs.registrations
          .filter(({ type }) => type.startsWith("pulumi:providers:"))
          .map(({ name }) => name),
        ["own"],
      );
    });

    it("does not answer, and Argo is to be used that nobody can see: the preview goes on, and says so", async () => {
      const unreachable = { kubeconfig: "{}", context: "prod" };
      const lines = await logged(() =>
        run(() => void operators({ cluster: unreachable, platform: { argoWorkflows: "share" } })),
      );
      assert.match(lines, /this kubeconfig cannot check whether Argo Workflows is in the cluster/);
    });

    it("has a kubeconfig that is missing: the preview says so", async () => {
      const lines = await logged(() =>
        run(() => void operators({ cluster: { kubeconfig: "/none" } }), { preview: true }),
      );
      assert.match(lines, /\/none is no kubeconfig: .*no such file/);
      assert.doesNotMatch(lines, /--kubeconfig/);
    });

    it("has an installation of another stack: refused, and one of this stack's own is not", async () => {
      const name = "argosy-installation-shop";
      const look = (program: string) =>
        fakeLook({ clusterRoles: { [name]: found({ annotations: { "argosy.dev/program": program } }) } });
      const expected = { installation: "shop", clusterRole: name, program: "shop/dev" };
      assert.deepEqual((await checkInstallation(look("shop/dev"), expected)).problems, []);
      const { problems } = await checkInstallation(look("billing/prod"), expected);
      assert.match(
        problems[0] ?? "",
        /installation is "shop", which in this cluster belongs to the stack billing\/prod\. Give these operators another installation\. .*kubectl delete clusterrole argosy-installation-shop/,
      );
    });

    it("has one object for each installation, which says whose it is", async () => {
      const { manifests } = await run(() => void operators());
      const marker = manifests.find(({ metadata }) => metadata.name === "argosy-installation-argosy");
      assert.equal(marker?.kind, "ClusterRole");
      // The API server answers an empty list with null: Pulumi would find a change at each `up`.
      assert.ok(marker && !("rules" in marker));
      assert.equal(marker?.metadata.annotations?.["argosy.dev/program"], "argosy/test");
    });

    it("has names of two stacks beside each other", async () => {
      const clusterScoped = async (installation: string, namespace: string) => {
        const handlers = everyForm.definitions.map((each) => ({ ...each, installation }));
        const platform: ArgoPlatformArgs = {
          namespace,
          controllerNamespace: `${namespace}-system`,
          argoEvents: "share",
          argoWorkflows: "share",
        };
        const { manifests } = await run(() => void operators({ handlers, platform }));
        const ours = manifests.filter(
          ({ kind, metadata }) =>
            metadata.namespace === undefined && kind !== "CustomResourceDefinition" && kind !== "Namespace",
        );
        assert.ok(ours.length > 5);
        const elsewhere = manifests.filter(({ metadata }) => /^team-/.test(metadata.namespace ?? ""));
        assert.ok(elsewhere.length > 2);
        return [...ours, ...elsewhere].map(
          ({ kind, metadata }) => `${kind} ${metadata.namespace}/${metadata.name}`,
        );
      };
      const [one, other] = [await clusterScoped("one", "one"), await clusterScoped("other", "other")];
      assert.deepEqual(
        one.filter((each) => other.includes(each)),
        [],
      );
    });
  });

  describe("wrong arguments", () => {
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
      await refused(() => new Operators("ops", { handlers: [] }), /handlers is no folder, and no list/);
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
      await refused(
        () => operators({ overrides }),
        /overrides is given, and the operators are already loaded/,
      );
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

    it("of another stack is read beside a StackReference of the program's own to that stack", async () => {
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

  describe("without a half of Argo", () => {
    const argoKinds = (made: Run) => [
      ...new Set(
        made.manifests
          .filter(({ apiVersion }) => apiVersion.startsWith("argoproj.io"))
          .map(({ kind }) => kind),
      ),
    ];
    const runner = (made: Run) => JSON.stringify(named(made, "shop-gear-runner").inputs);

    it("Events has no bus, source, sensor, controller and hints", async () => {
      const made = await run(() => void operators({ platform: { argoEvents: "none" } }));
      assert.deepEqual(argoKinds(made), ["WorkflowTemplate"]);
      assert.ok(!kinds(made).some((each) => /events|eventsources|sensor|keeper/i.test(each)));
      assert.ok(!kinds(made).includes("Service gear-runner"));
      assert.match(runner(made), /"ARGOSY_WITHOUT","value":"events"/);
      const policy = made.manifests.find(({ kind }) => kind === "NetworkPolicy");
      assert.ok(policy && !JSON.stringify(policy).includes("8080"));
    });

    it("Workflows has no template, right, controller and UI", async () => {
      const made = await run(() => void operators({ platform: { argoWorkflows: "none" } }));
      assert.deepEqual(argoKinds(made).sort(), ["EventBus", "EventSource", "Sensor"]);
      assert.ok(!kinds(made).some((each) => /workflow|argo-server|viewer|submitter/i.test(each)));
      assert.match(runner(made), /"ARGOSY_WITHOUT","value":"workflows"/);
      assert.ok(
        !JSON.stringify(made.manifests.filter(({ kind }) => /Role$/.test(kind))).includes("workflows"),
      );
    });

    it("without both is one pod for each operator", async () => {
      const none = { argoEvents: "none", argoWorkflows: "none" } as const;
      const made = await run(() => void operators({ platform: none }));
      const workloads = made.manifests.filter(({ kind }) => kind === "Deployment");
      assert.deepEqual(
        workloads.map(({ metadata }) => metadata.name),
        ["gear-runner"],
      );
      assert.ok(
        !JSON.stringify(made.manifests.filter(({ metadata }) => !/engine/.test(metadata.name))).includes(
          "argoproj.io",
        ),
      );
      assert.match(runner(made), /"ARGOSY_WITHOUT","value":"events,workflows"/);
    });

    it("with both is as it was: no word of it", async () => {
      assert.ok(!runner(await run(() => void operators())).includes("ARGOSY_WITHOUT"));
    });

    it("Workflows has no form pod, and says what to do", () =>
      refused(
        () => operators({ handlers: everyForm.definitions, platform: { argoWorkflows: "none" } }),
        /the operator press has execution "pod", which needs Argo Workflows, and the platform has none\. Set its execution.*\n.*the operator saw has/,
      ));

    it("Events has the form pod run at its resync alone, and says so", async () => {
      const lines = await logged(() =>
        run(() => void operators({ handlers: everyForm.definitions, platform: { argoEvents: "none" } })),
      );
      assert.match(
        lines,
        /the operator press has execution "pod", and the platform has no Argo Events: a change is seen at the next resync, up to 600 seconds later/,
      );
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
          argoPlatform?.eventsController?.metadata.name,
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
      runners: ["gear-runner", undefined, "robot-runner", undefined],
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
