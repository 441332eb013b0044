import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { embeddedYaml } from "../../components/manifests/configMaps";
import { IMAGES, imageReference } from "../../components/manifests/images";
import {
  buildArgoEventsConfiguration,
  buildArgoEventsController,
  JETSTREAM_VERSION,
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
import { assertNone } from "./support/lists";
import {
  anyPlatformOptions,
  deploymentsOf,
  everyManifest,
  everySet,
  platformOptions,
  podOf,
  serverOf,
  text,
} from "./support/platform";

const keys = (set: object) => Object.keys(set);
const CLUSTER_SCOPED = ["Namespace", "CustomResourceDefinition"];

describe("the platform's manifests", () => {
  it("are complete objects, with a namespace if their kind has one", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (options) => {
        for (const { apiVersion, kind, metadata } of everyManifest(options)) {
          assert.match(apiVersion, /^([a-z0-9.]+\/)?v1$/);
          assert.match(kind, /^[A-Z]/);
          assert.match(metadata.name, /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/);
          const scopes = [options.namespace, options.controllerNamespace];
          if (CLUSTER_SCOPED.includes(kind)) assert.equal(metadata.namespace, undefined);
          else assert.ok(scopes.includes(metadata.namespace ?? ""), `${kind} ${metadata.name}`);
          assert.equal(metadata.labels?.["app.kubernetes.io/managed-by"], "argosy");
        }
      }),
    );
  });

  it("are plain data without holes, and the same each time", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (options) => {
        const sets = everySet(options);
        assert.deepStrictEqual(JSON.parse(JSON.stringify(sets)), structuredClone(sets));
        assert.equal(JSON.stringify(everySet(structuredClone(options))), JSON.stringify(sets));
      }),
    );
  });

  it("name no object twice", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (options) => {
        const names = everyManifest(options).map(
          ({ kind, metadata: { namespace, name } }) => `${kind} ${namespace} ${name}`,
        );
        assert.equal(new Set(names).size, names.length);
      }),
    );
  });

  it("put every workload on the nodes of the placement", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (options) => {
        const { imagePullSecrets = [], nodeSelector, tolerations } = options.placement;
        for (const deployment of deploymentsOf(options)) {
          const pod = podOf(deployment);
          assert.deepStrictEqual(
            pod.imagePullSecrets ?? [],
            imagePullSecrets.map((name) => ({ name })),
          );
          assert.deepStrictEqual(pod.nodeSelector ?? {}, nodeSelector);
          assert.deepStrictEqual(pod.tolerations ?? [], tolerations);
        }
      }),
    );
  });

  it("pull every image from the mirror", () => {
    const images = Object.values(IMAGES).map((image) => imageReference(image));
    const repositories = Object.values(IMAGES).map(({ repository }) => repository);
    const plain = text(platformOptions());
    const used = images.filter((image) => plain.includes(image));
    assert.equal(used.length, 7);
    const registry = "mirror.example.com/hub";
    const mirrored = text(platformOptions({ placement: { ...platformOptions().placement, registry } }));
    for (const repository of repositories) assert.ok(!mirrored.includes(repository), repository);
    assert.equal(mirrored.split(`${registry}/`).length, plain.split(/quay\.io\/|docker\.io\//).length);
  });

  it("size every container", () => {
    for (const { resources } of deploymentsOf(platformOptions()).flatMap((each) => podOf(each).containers))
      assert.ok(resources.requests.cpu && resources.requests.memory && resources.limits.memory);
  });

  it("run each program as an account, and with volumes, that are in its own set", () => {
    for (const set of Object.values(everySet(platformOptions()))) {
      for (const deployment of Object.values(set).filter(({ kind }) => kind === "Deployment")) {
        const pod = podOf(deployment);
        const has = (kind: string, name: string) =>
          Object.values(set).some(
            ({ kind: other, metadata }) =>
              other === kind &&
              metadata.name === name &&
              metadata.namespace === deployment.metadata.namespace,
          );
        assert.ok(has("ServiceAccount", pod.serviceAccountName));
        const mounted = pod.containers.flatMap(({ volumeMounts = [] }) =>
          volumeMounts.map(({ name }) => name),
        );
        assert.deepStrictEqual(
          mounted,
          (pod.volumes ?? []).map(({ name }) => name),
        );
        for (const { configMap } of pod.volumes ?? [])
          if (configMap) assert.ok(has("ConfigMap", configMap.name));
      }
    }
  });

  it("find each program's pods by labels that no other one has", () => {
    const deployments = deploymentsOf(platformOptions());
    const selectors = deployments.map(({ spec }) => {
      const { selector, template } = spec as {
        selector: { matchLabels: Record<string, string> };
        template: { metadata: { labels: Record<string, string> } };
      };
      assert.deepStrictEqual(
        { ...template.metadata.labels, ...selector.matchLabels },
        template.metadata.labels,
      );
      return JSON.stringify(selector.matchLabels);
    });
    assert.equal(new Set(selectors).size, 3);
    const { service, server } = serverOf(platformOptions());
    const { selector } = (service as Manifest).spec as { selector: object };
    assert.deepStrictEqual(
      selector,
      ((server as Manifest).spec as { selector: { matchLabels: object } }).selector.matchLabels,
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

  it("make two namespaces that enforce the restricted standard, or none", () => {
    const { controllers, operators } = buildNamespaces(platformOptions());
    for (const [namespace, name] of [
      [controllers, "argosy-system"],
      [operators, "argosy"],
    ] as const) {
      assert.equal(namespace?.metadata.name, name);
      for (const mode of ["enforce", "audit", "warn"]) {
        assert.equal(namespace?.metadata.labels?.[`pod-security.kubernetes.io/${mode}`], "restricted");
        assert.equal(namespace?.metadata.labels?.[`pod-security.kubernetes.io/${mode}-version`], "latest");
      }
    }
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

  it("give the image of the events controller to the pods that it makes", () => {
    const registry = "mirror.example.com";
    const options = platformOptions({ placement: { ...platformOptions().placement, registry } });
    const { controller } = buildArgoEventsController(options);
    const [container] = podOf(controller as Manifest).containers;
    assert.equal(container?.image, `mirror.example.com/argoproj/argo-events:${IMAGES.argoEvents.tag}`);
    assert.deepStrictEqual(container?.env, [
      { name: "ARGO_EVENTS_IMAGE", value: container?.image },
      { name: "IMAGE_PULL_POLICY", value: "IfNotPresent" },
    ]);
  });

  it("keep the Workflow controller alive if a Workflow cannot be read, and quick", () => {
    const { controller } = buildWorkflowController(platformOptions());
    const env = podOf(controller as Manifest).containers.flatMap(({ env = [] }) => env);
    assert.deepStrictEqual(Object.fromEntries(env.map(({ name, value }) => [name, value])), {
      DEFAULT_REQUEUE_TIME: "1s",
      SEMAPHORE_NOTIFY_DELAY: "100ms",
      LEADER_ELECTION_DISABLE: "true",
      WATCH_CONTROLLER_SEMAPHORE_CONFIGMAPS: "false",
      INDEX_WORKFLOW_SEMAPHORE_KEYS: "false",
    });
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
const own = (rights: readonly string[]) => rights.filter((right) => right.startsWith("in argosy-system:"));

describe("the platform's rights", () => {
  it("hold in the two namespaces only, and in no whole cluster", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (any) => {
        const kinds = everyManifest(any).map(({ kind }) => kind);
        assert.ok(!kinds.some((kind) => kind.startsWith("ClusterRole")));
      }),
    );
  });

  it("have no wildcard, and nothing by which an account gains the rights of another one", () => {
    const rights = ACCOUNTS.flatMap((account) => rightsOf(options, account));
    assert.ok(rights.length > 100);
    assertNone(rights, (right) =>
      /\*|escalate|bind |impersonate|pods\/(exec|attach|portforward|ephemeralcontainers)|serviceaccounts|nodes|scale/.test(
        right,
      ),
    );
  });

  it("are said once each", () => {
    for (const account of ACCOUNTS) {
      const rights = rightsOf(options, account);
      assert.equal(new Set(rights).size, rights.length, account);
    }
  });

  it("are bound to accounts that exist", () => {
    fc.assert(
      fc.property(anyPlatformOptions, (any) => {
        const manifests = everyManifest(any);
        const idOf = ({ metadata: { namespace, name } }: Pick<Manifest, "metadata">) =>
          `${namespace}/${name}`;
        const accounts = manifests.filter(({ kind }) => kind === "ServiceAccount").map(idOf);
        for (const { subjects } of manifests.filter(({ kind }) => kind === "RoleBinding")) {
          for (const { namespace, name } of subjects as { namespace: string; name: string }[]) {
            assert.ok(accounts.includes(`${namespace}/${name}`));
          }
        }
      }),
    );
  });

  it("let only the events controller at Secrets, and not read one by its name", () => {
    for (const account of ACCOUNTS) {
      const secrets = rightsOf(options, account).filter((right) => right.includes("/secrets"));
      const expected = ["list", "create", "delete"].map((verb) => `in argosy: ${verb} /secrets`);
      assert.deepStrictEqual(secrets, account === "argo-events-controller" ? expected : [], account);
    }
  });

  it("let the events controller replace the Service of an event source, and delete one that has no port left", () => {
    const services = rightsOf(options, "argo-events-controller").filter((right) =>
      right.endsWith("/services"),
    );
    const verbs = ["list", "watch", "create", "delete"];
    assert.deepStrictEqual(
      services.filter((right) => !right.includes("update")),
      verbs.map((verb) => `in argosy: ${verb} /services`),
    );
  });

  it("let the events controller do nothing in its own namespace", () => {
    assert.deepStrictEqual(own(rightsOf(options, "argo-events-controller")), []);
  });

  it("let the Workflow controller and argo-server read their configuration in theirs, and nothing else", () => {
    const configuration = "in argosy-system: get /configmaps[workflow-controller-configmap]";
    assert.deepStrictEqual(own(rightsOf(options, "workflow-controller")), [configuration]);
    assert.deepStrictEqual(own(rightsOf(options, "argo-server")), [configuration]);
  });

  it("let the Workflow controller write both parts of a task set, as a completed one needs", () => {
    const rights = rightsOf(options, "workflow-controller");
    for (const resource of ["workflowtasksets", "workflowtasksets/status"]) {
      assert.ok(rights.includes(`in argosy: patch argoproj.io/${resource}`));
    }
  });

  it("let the Workflow controller mark a Workflow as archived after the archive was removed, so that the Workflow can go", () => {
    assert.ok(rightsOf(options, "workflow-controller").includes("in argosy: patch argoproj.io/workflows"));
  });

  it("let argo-server only list and watch", () => {
    const rights = rightsOf(options, "argo-server").filter((right) => right.startsWith("in argosy:"));
    assert.deepStrictEqual(rights, [
      "in argosy: list argoproj.io/workflows",
      "in argosy: watch argoproj.io/workflows",
      "in argosy: list argoproj.io/workflowtemplates",
      "in argosy: watch argoproj.io/workflowtemplates",
    ]);
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
    const security = {
      runAsNonRoot: true,
      runAsUser: 65532,
      runAsGroup: 65532,
      seccompProfile: { type: "RuntimeDefault" },
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ["ALL"] },
    };
    assert.deepStrictEqual(workflowConfiguration(), {
      instanceID: "argosy",
      workflowRestrictions: { templateReferencing: "Strict" },
      disableAgentPodCreation: true,
      parallelism: 500,
      nodeEvents: { enabled: false },
      workflowEvents: { enabled: false },
      executor: {
        securityContext: security,
        resources: { requests: { cpu: "10m", memory: "64Mi" }, limits: { memory: "256Mi" } },
      },
      mainContainer: { securityContext: security },
      podGCDeleteDelayDuration: "30s",
      failedPodRestart: { enabled: true },
      metricsConfig: {
        secure: false,
        modifiers: {
          locks_held: { disabled: true },
          locks_pending: { disabled: true },
          locks_taken_total: { disabled: true },
        },
      },
    });
  });

  it("has pods without an init container only if they are wanted", () => {
    assert.deepStrictEqual(workflowConfiguration({ initlessPods: true }).initlessPod, { enabled: true });
    assert.ok(!("initlessPod" in workflowConfiguration({ initlessPods: false })));
  });

  it("has the instance id as a text, whatever YAML 1.1 would read it as", () => {
    for (const instanceId of ["yes", "on", "null", "007", "1e3", "1.30", "0x1F", "1_000"]) {
      assert.strictEqual(workflowConfiguration({ instanceId }).instanceID, instanceId);
    }
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

  it("knows our version of JetStream, with images from the mirror", () => {
    assert.deepStrictEqual(configuration("mirror.example.com").jetstream.versions, [
      {
        version: JETSTREAM_VERSION,
        natsImage: `mirror.example.com/library/nats:${IMAGES.eventBus.tag}`,
        configReloaderImage: `mirror.example.com/natsio/nats-server-config-reloader:${IMAGES.eventBusReloader.tag}`,
        metricsExporterImage: `mirror.example.com/natsio/prometheus-nats-exporter:${IMAGES.eventBusMetrics.tag}`,
        startCommand: "/nats-server",
      },
    ]);
  });

  it("has the entry for NATS Streaming without which the controller ends", () => {
    assert.equal(configuration().nats.versions.length, 1);
  });

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
