import assert from "node:assert/strict";
import fc from "fast-check";
import { parse } from "yaml";
import { embeddedYaml } from "../../components/manifests/configMaps";
import { IMAGES } from "../../components/manifests/images";
import {
  buildArgoEventsConfiguration,
  JETSTREAM_VERSION,
} from "../../components/manifests/platform/argoEvents";
import type { PlatformOptions } from "../../components/manifests/platform/options";
import { buildWorkflowConfiguration } from "../../components/manifests/platform/workflowController";
import type { Manifest } from "../../runtime/base/objects";
import { platformOptions } from "./support/platform";

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
