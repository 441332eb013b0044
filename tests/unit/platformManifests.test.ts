import assert from "node:assert/strict";
import fc from "fast-check";
import { IMAGES, imageReference } from "../../components/manifests/images";
import { buildArgoEventsController } from "../../components/manifests/platform/argoEvents";
import {
  buildArgoEventsDefinitions,
  buildArgoWorkflowsDefinitions,
} from "../../components/manifests/platform/definitions";
import { buildNamespaces } from "../../components/manifests/platform/namespaces";
import { buildSubmitter, buildViewer } from "../../components/manifests/platform/users";
import { buildWorkflowController } from "../../components/manifests/platform/workflowController";
import type { Manifest } from "../../runtime/base/objects";
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
