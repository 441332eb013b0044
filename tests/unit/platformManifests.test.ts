import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { embeddedYaml } from "../../components/manifests/configMaps";
import {
  buildArgoEventsConfiguration,
  buildArgoEventsController,
} from "../../components/manifests/platform/argoEvents";
import {
  buildArgoEventsDefinitions,
  buildArgoWorkflowsDefinitions,
} from "../../components/manifests/platform/definitions";
import { buildNamespaces } from "../../components/manifests/platform/namespaces";
import type { PlatformOptions } from "../../components/manifests/platform/options";
import { buildSubmitter, buildViewer } from "../../components/manifests/platform/users";
import {
  buildWorkflowConfiguration,
  buildWorkflowController,
} from "../../components/manifests/platform/workflowController";
import type { Manifest } from "../../runtime/base/objects";
import type { PolicyRule } from "../../runtime/operator/definition";
import {
  anyPlatformOptions,
  deploymentsOf,
  everyManifest,
  everySet,
  platformOptions,
  podOf,
  serverOf,
} from "./support/platform";

const keys = (set: object) => Object.keys(set);

describe("the platform's manifests", () => {
  it("are plain data without holes, and the same each time", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (options) => {
        const sets = everySet(options);
        assert.deepStrictEqual(JSON.parse(JSON.stringify(sets)), structuredClone(sets));
        assert.equal(JSON.stringify(everySet(structuredClone(options))), JSON.stringify(sets));
      }),
    );
  });

  it("restart a program if its configuration changes, and only then", () => {
    const annotationsOf = (instanceId: string) =>
      deploymentsOf(platformOptions({ instanceId })).map(
        ({ spec }) =>
          (spec as { template: { metadata: { annotations: object } } }).template.metadata.annotations,
      );
    const [events, controller, server] = annotationsOf("one");
    const [otherEvents, otherController, otherServer] = annotationsOf("two");
    assert.deepStrictEqual(events, otherEvents);
    assert.notDeepStrictEqual(controller, otherController);
    assert.notDeepStrictEqual(server, otherServer);
    assert.deepStrictEqual(server, controller);
  });

  it("register accounts, roles and configuration before the program, and a Service after its pods", () => {
    const options = platformOptions();
    assert.deepStrictEqual(keys(buildArgoEventsController(options)), [
      "account",
      "role",
      "binding",
      "configuration",
      "controller",
    ]);
    const common = ["account", "role", "binding", "configuration-role", "configuration-binding"];
    assert.deepStrictEqual(keys(buildWorkflowController(options)), [
      ...common,
      "configuration",
      "controller",
    ]);
    assert.deepStrictEqual(keys(serverOf(options)), [...common, "server", "service"]);
  });

  it("leave out what is shared or adopted, each product for itself", () => {
    const parts = {
      argoEvents: [buildArgoEventsDefinitions, buildArgoEventsController],
      argoWorkflows: [buildArgoWorkflowsDefinitions, buildWorkflowController, serverOf],
    };
    const expected = {
      install: { argoEvents: [3, 5], argoWorkflows: [8, 7, 7] },
      share: { argoEvents: [0, 5], argoWorkflows: [0, 7, 7] },
      adopt: { argoEvents: [0, 0], argoWorkflows: [0, 0, 0] },
    } as const;
    for (const installation of ["install", "share", "adopt"] as const) {
      for (const product of ["argoEvents", "argoWorkflows"] as const) {
        // The other product says "install", and must not matter.
        const options = platformOptions({ [product]: installation });
        const sizes = parts[product].map((build) => keys(build(options)).length);
        assert.deepStrictEqual(sizes, expected[installation][product], `${product} ${installation}`);
      }
    }
  });

  it("are only the operators' namespace and the viewer's account if both are adopted", () => {
    const options = platformOptions({ argoEvents: "adopt", argoWorkflows: "adopt" });
    assert.deepStrictEqual(
      everyManifest(options).map(({ kind, metadata: { name } }) => `${kind} ${name}`),
      [
        "Namespace argosy",
        ...["ServiceAccount", "Role", "RoleBinding"].map((kind) => `${kind} argosy-viewer`),
      ],
    );
  });

  it("make the namespaces of both controllers and operators, even if only one product is ours, or none", () => {
    assert.deepStrictEqual(buildNamespaces(platformOptions({ createNamespaces: false })), {});
    assert.deepStrictEqual(keys(buildNamespaces(platformOptions({ argoWorkflows: "adopt" }))), [
      "controllers",
      "operators",
    ]);
  });

  it("let each controller manage the operators' namespace from its own", () => {
    const deployments = deploymentsOf(platformOptions({ namespace: "work", controllerNamespace: "control" }));
    for (const deployment of deployments) {
      assert.equal(deployment.metadata.namespace, "control");
      const args = podOf(deployment).containers.flatMap(({ args }) => args);
      assert.ok(args.includes("--namespaced") && args.includes("--managed-namespace=work"));
    }
  });

  it("let the tokens of people's accounts be mounted nowhere", () => {
    for (const { account } of [buildViewer(platformOptions()), buildSubmitter(platformOptions())]) {
      assert.equal(account?.automountServiceAccountToken, false);
    }
  });
});

/** A right as RBAC grants it: "in NAMESPACE: VERB GROUP/RESOURCE", with "[NAME]" where it is narrowed to one. */
function rightsOf(options: PlatformOptions, account: string): string[] {
  const manifests = everyManifest(options);
  const bound = manifests.filter(({ kind, subjects }) => {
    const names = (subjects as { name: string }[] | undefined)?.map(({ name }) => name);
    return kind === "RoleBinding" && names?.includes(account);
  });
  return bound.flatMap(({ metadata: { namespace }, roleRef }) => {
    const { name } = roleRef as { name: string };
    const role = manifests.find(
      ({ kind, metadata }) => kind === "Role" && metadata.name === name && metadata.namespace === namespace,
    );
    assert.ok(role, name);
    return (role.rules as PolicyRule[]).flatMap((rule) =>
      rule.apiGroups.flatMap((group) =>
        rule.resources.flatMap((resource) =>
          rule.verbs.flatMap((verb) =>
            (rule.resourceNames ?? [""]).map(
              (only) => `in ${namespace}: ${verb} ${group}/${resource}${only && `[${only}]`}`,
            ),
          ),
        ),
      ),
    );
  });
}

const ACCOUNTS = [
  "argo-events-controller",
  "workflow-controller",
  "argo-server",
  "argosy-viewer",
  "argosy-submitter",
];
const options = platformOptions();

describe("the platform's rights", () => {
  it("hold in the two namespaces only, and in no whole cluster", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (any) => {
        const kinds = everyManifest(any).map(({ kind }) => kind);
        assert.ok(!kinds.some((kind) => kind.startsWith("ClusterRole")));
      }),
    );
  });

  it("let the viewer read, and neither change anything nor read what may be secret", () => {
    const rights = rightsOf(options, "argosy-viewer");
    assert.ok(rights.includes("in argosy: get /pods/log"));
    for (const right of rights) {
      assert.match(right, /^in argosy: (get|list|watch) /);
      assert.doesNotMatch(right, /secrets|configmaps/);
    }
  });

  it("let the submitter do what the viewer may, and create Workflows", () => {
    const [viewer, submitter] = [rightsOf(options, "argosy-viewer"), rightsOf(options, "argosy-submitter")];
    const further = submitter.filter((right) => !viewer.includes(right));
    assert.deepStrictEqual(further, ["in argosy: create argoproj.io/workflows"]);
    assert.equal(submitter.length, viewer.length + 1);
  });

  it("let no person create Workflows next to another program's controller, which may accept any Workflow", () => {
    const mayCreate = (options: PlatformOptions) =>
      ACCOUNTS.filter((account) =>
        rightsOf(options, account).includes("in argosy: create argoproj.io/workflows"),
      );
    assert.deepStrictEqual(mayCreate(options), ["workflow-controller", "argosy-submitter"]);
    for (const argoWorkflows of ["share", "adopt", "none"] as const) {
      const people = mayCreate(platformOptions({ argoWorkflows })).filter((who) => who.startsWith("argosy-"));
      assert.deepStrictEqual(people, [], argoWorkflows);
    }
  });
});

const dataOf = ({ data }: Manifest) => data as Record<string, string>;

/** As the Workflow controller puts its ConfigMap's keys together (argo-workflows, config/controller.go). */
function glued(data: Record<string, string>): string {
  const strip = (value: string) => value.replace(/^\n+|\n+$/g, "");
  return Object.entries(data)
    .map(([key, value]) =>
      value.includes("\n") ? `${key}:\n  ${strip(value).split("\n").join("\n  ")}\n` : `${key}: ${value}\n`,
    )
    .join("");
}

const workflowConfiguration = (options: Partial<PlatformOptions> = {}) =>
  parse(glued(dataOf(buildWorkflowConfiguration(platformOptions(options)))), { version: "1.1" });

describe("the Workflow controller's configuration", () => {
  it("is what the controller reads once its keys are glued together", () => {
    const written = Object.entries(dataOf(buildWorkflowConfiguration(platformOptions())));
    assert.ok(written.length > 8);
    const parts = written.map(([key, value]) => [key, parse(value, { version: "1.1" })]);
    assert.deepStrictEqual(workflowConfiguration(), Object.fromEntries(parts));
  });

  it("has pods without an init container only if they are wanted", () => {
    assert.deepStrictEqual(workflowConfiguration({ initlessPods: true }).initlessPod, { enabled: true });
    assert.ok(!("initlessPod" in workflowConfiguration({ initlessPods: false })));
  });

  it("has no instance id if the platform has none", () => {
    assert.ok(!("instanceID" in workflowConfiguration({ instanceId: "" })));
  });
});

describe("the events controller's configuration", () => {
  const configuration = (registry?: string) => {
    const placement = { ...platformOptions().placement, ...(registry && { registry }) };
    const data = dataOf(buildArgoEventsConfiguration(platformOptions({ placement })));
    return parse(data["controller-config.yaml"] ?? "").eventBus;
  };

  it("bounds a stream by a number of bytes, since a size in words would be none", () => {
    const stream = parse(configuration().jetstream.streamConfig);
    assert.ok(Number.isInteger(stream.maxBytes) && stream.maxBytes > 0);
    assert.equal(stream.replicas, 1);
  });
});

describe("embeddedYaml", () => {
  it("is read as what was written, in both versions of YAML", () => {
    const key = fc.stringMatching(/^[a-zA-Z_]{4,12}$/).filter((each) => !/^(true|false|null)$/i.test(each));
    const { tree } = fc.letrec<{ tree: unknown }>((tie) => ({
      tree: fc.oneof(
        { depthSize: "small" },
        fc.string(),
        fc.string({ unit: fc.constantFrom("a", " ", "\n", "\t", ":", "#", "-", "\r") }),
        fc.constantFrom("yes", "no", "1:30", "0o7", "~", "=", "- x", "a: b", "line\nline\n"),
        fc.integer(),
        fc.boolean(),
        fc.array(tie("tree"), { maxLength: 3 }),
        fc.dictionary(key, tie("tree"), { maxKeys: 3, noNullPrototype: true }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const written = embeddedYaml(value);
        assert.ok(written.endsWith("\n"));
        for (const version of ["1.1", "1.2"] as const) {
          assert.deepStrictEqual(parse(written, { version }), value);
        }
      }),
    );
  });
});

const definitions = [
  ...Object.values(buildArgoEventsDefinitions(platformOptions())),
  ...Object.values(buildArgoWorkflowsDefinitions(platformOptions())),
];

describe("the definitions of Argo's kinds", () => {
  it("are waited for until they are established", () => {
    for (const { metadata } of definitions) {
      // A list, as Pulumi reads it (pulumi-kubernetes, provider/pkg/metadata/overrides.go, ReadyCondition).
      const waitFor = metadata.annotations?.["pulumi.com/waitFor"] ?? "";
      assert.deepStrictEqual(JSON.parse(waitFor), ["condition=Established"]);
    }
  });

  it("are small: all together less than one of Argo's own", () => {
    assert.ok(JSON.stringify(definitions).length < 16_000);
  });
});
