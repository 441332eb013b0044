import assert from "node:assert/strict";
import path from "node:path";
import * as pulumi from "@pulumi/pulumi";
import { ArgoPlatform } from "../../components/argoPlatform";
import type { OperatorsArgs } from "../../components/arguments/arguments";
import { Operators } from "../../components/operators";
import { named } from "./support/componentRuns";
import { type Run, run } from "./support/program";
import { EVERY_FORM, sampleProgram } from "./support/sampleOperators";

/** How Pulumi marks what is not known yet, and what is secret (sdk/nodejs/runtime/rpc.ts). */
const UNKNOWN = "__pulumiUnknown";
const SIGNATURE = "4dabf18193072939515e22adb298388d";

/** An Output whose value no preview knows: of a resource that is still to be made. */
class Database extends pulumi.CustomResource {
  declare readonly host: pulumi.Output<string>;
  declare readonly secret: pulumi.Output<string>;
  constructor(inputs: Readonly<Record<string, unknown>> = {}) {
    super("cloud:index:Database", "database", { host: undefined, secret: undefined, ...inputs });
  }
}

describe("values that are only known later", function () {
  this.timeout(60_000);
  const sample = sampleProgram(EVERY_FORM);

  const operators = (args: Partial<OperatorsArgs>) =>
    new Operators("shop", { handlers: sample.definitions, ...args });
  /** Paths to every part of a value that is marked as unknown or as secret. */
  const pathsTo = (value: unknown, mark: string, at = ""): string[] => {
    if (typeof value !== "object" || value === null) return [];
    if (mark in value) return [at];
    return Object.entries(value).flatMap(([key, each]) => pathsTo(each, mark, `${at}.${key}`));
  };
  const everyPathTo = ({ registrations }: Run, mark: string): string[] =>
    registrations.flatMap(({ name, inputs }) => pathsTo(inputs, mark, name)).sort();

  const later = <T>(value: T) => pulumi.output(Promise.resolve(value));

  it("are the same objects as plain ones once they are known", async () => {
    const args = (wrap: <T>(value: T) => pulumi.Input<T>): Partial<OperatorsArgs> => ({
      replicas: wrap(3),
      placement: {
        registry: wrap("mirror.example.com/hub"),
        imagePullSecrets: [wrap("pull")],
        nodeSelector: { disk: wrap("ssd") },
      },
      platform: {
        archive: { host: wrap("db.example.com"), database: wrap("runs"), secret: wrap("archive") },
        monitoring: { podMonitor: true, alertRules: true, labels: { release: wrap("prometheus") } },
      },
    });
    const plain = await run(() => void operators(args((value) => value)));
    const known = await run(() => void operators(args((value) => pulumi.output(value) as typeof value)));
    const withoutFingerprints = ({ manifests }: Run) =>
      JSON.parse(JSON.stringify(manifests), (key, value) =>
        ["argosy.dev/configuration", "argosy.dev/sensor"].includes(key) ? undefined : value,
      );
    assert.deepEqual(withoutFingerprints(known), withoutFingerprints(plain));
    const text = JSON.stringify(known.registrations);
    assert.ok(!text.includes("known-later"));
  });

  it("make only their own fields unknown in a preview", async () => {
    const make = () => {
      const { host, secret } = new Database();
      operators({ platform: { archive: { host, database: "runs", secret } } });
    };
    const preview = await run(make, { preview: true });
    const controller = "shop-platform-argo-workflows";
    const server = "shop-platform-argo-server";
    const program = "spec.template.metadata.annotations.argosy.dev/configuration";
    assert.deepEqual(
      everyPathTo(preview, UNKNOWN).filter((each) => each.startsWith("shop-")),
      [
        `${server}-configuration-role.rules.1.resourceNames.0`,
        `${server}-server.${program}`,
        `${controller}-configuration-role.rules.1.resourceNames.0`,
        `${controller}-configuration.data.persistence`,
        `${controller}-controller.${program}`,
      ],
    );
    const { data } = named(preview, "shop-platform-argo-workflows-configuration").inputs as {
      data: Record<string, string>;
    };
    assert.match(data.parallelism ?? "", /50/);
  });

  it("leave a runner's pod whole in a preview", async () => {
    const program = () => {
      const { host } = new Database();
      operators({ placement: { nodeSelector: { zone: host } }, replicas: host.apply(Number) });
    };
    const preview = await run(program, { preview: true });
    const { inputs } = named(preview, "shop-gear-runner");
    assert.deepEqual(pathsTo(inputs, UNKNOWN).sort(), [
      ".spec.replicas",
      ".spec.template.spec.nodeSelector.zone",
    ]);
    assert.match(JSON.stringify(inputs), /topologySpreadConstraints/);
  });

  it("are refused when they are known, with the argument and the remedy, as plain ones are before", async () => {
    const wrong: readonly (readonly [Partial<OperatorsArgs>, RegExp])[] = [
      ...[0, 99, 1.5, "2", undefined].map(
        (number) =>
          [
            { replicas: later(number as number) },
            /Operators "shop": replicas is an Output, and its value .*: 1 or 2\.$/,
          ] as const,
      ),
      [
        { images: { engine: later(":22.20.0") } },
        /images\.engine is an Output, and its value is ":22\.20\.0", which cannot be the name of an image\. Pin/,
      ],
      [
        { placement: { imagePullSecrets: [later("")] } },
        /placement\.imagePullSecrets\.0 is an Output, and its value is empty\. /,
      ],
      [
        { placement: { nodeSelector: { disk: pulumi.secret(1 as unknown as string) } } },
        /placement\.nodeSelector\.disk is an Output, and its value is wrong\. /,
      ],
    ];
    for (const [args, message] of wrong)
      await assert.rejects(
        run(() => operators(args)),
        { message },
      );
  });

  it("may be images that the program makes, of which each is pulled as it is", async () => {
    const [engine, own, files] = ["engine", "gear", "files"].map(
      (name) => `eu.example.com/${name}@sha256:${"0".repeat(64)}`,
    );
    const folder = path.dirname(sample.definitions[0]?.folder ?? "");
    const make = (wrap: (image: string) => pulumi.Input<string>) => () =>
      void new Operators("shop", {
        handlers: folder,
        placement: { registry: "mirror.example.com" },
        images: { engine: wrap(engine ?? "") },
        overrides: { gear: { image: wrap(own ?? "") }, robot: { files: { image: wrap(files ?? "") } } },
      });
    const imagesOf = (made: Run, name: string) => {
      const { inputs } = named(made, `shop-${name}-runner`);
      return JSON.stringify(inputs).match(/(?<="(image|reference)":")[^"]+/g);
    };
    const known = await run(make(later));
    assert.ok(imagesOf(known, "gear")?.includes(own ?? ""));
    assert.ok(imagesOf(known, "gear")?.includes(engine ?? ""));
    assert.ok(imagesOf(known, "robot")?.includes(files ?? ""));
    const mirrored = imagesOf(await run(make((image) => image)), "gear");
    assert.ok(mirrored?.includes("mirror.example.com/gear@sha256:".concat("0".repeat(64))), mirrored?.join());
    const preview = await run(
      make(() => new Database().host),
      { preview: true },
    );
    const unknown = pathsTo(named(preview, "shop-gear-runner").inputs, UNKNOWN);
    assert.ok(unknown.length > 1 && unknown.every((at) => at.endsWith(".image")), unknown.join());
    await assert.rejects(
      run(
        () => void new Operators("shop", { handlers: folder, overrides: { gear: { image: later("a b") } } }),
      ),
      {
        message:
          /Operators "shop": overrides\.gear\.image is an Output, and its value is "a b", which cannot be/,
      },
    );
  });

  it("do not count for an operator that has its own number of runners", async () => {
    const handlers = sample.definitions.map((each) =>
      each.name === "gear" ? { ...each, replicas: 1 } : each,
    );
    const made = await run(() => void operators({ handlers, replicas: later(3) }));
    const replicas = ["gear", "robot"].map((name) => {
      const { spec } = named(made, `shop-${name}-runner`).inputs as { spec: { replicas: number } };
      return spec.replicas;
    });
    assert.deepEqual(replicas, [1, 3]);
  });

  it("make only their own fields secret", async () => {
    const program = () =>
      void new ArgoPlatform("argo", {
        archive: { host: pulumi.secret("db.example.com"), database: "runs", secret: "archive" },
      });
    const made = await run(program, { preview: true });
    // Mocks are told of the outermost field only that a secret is in.
    assert.deepEqual(everyPathTo(made, SIGNATURE), [
      "argo-argo-server-server.spec",
      "argo-argo-workflows-configuration.data",
      "argo-argo-workflows-controller.spec",
    ]);
  });

  it("start Argo's programs again when one of them has changed, and only then", async () => {
    const annotation = async (host: string) => {
      const made = await run(
        () =>
          void new ArgoPlatform("argo", {
            archive: { host: later(host), database: "runs", secret: "archive" },
          }),
      );
      return JSON.stringify(named(made, "argo-argo-workflows-controller").inputs).match(
        /"argosy.dev\/configuration":"([^"]+)"/,
      )?.[1];
    };
    assert.equal(await annotation("one.example.com"), await annotation("one.example.com"));
    assert.notEqual(await annotation("one.example.com"), await annotation("other.example.com"));
  });

  it("must be one word if they become part of a text", async () => {
    const program = () =>
      void new ArgoPlatform("argo", {
        archive: { host: later('db"\nparallelism: "1'), database: "runs", secret: "archive" },
      });
    await assert.rejects(run(program), /ArgoPlatform "argo": archive\.host is an Output that becomes part/);
    const registry = later("a b");
    await assert.rejects(
      run(() => operators({ placement: { registry, nodeSelector: { zone: registry } } })),
      /Operators "shop": placement\.registry, placement\.nodeSelector\.zone is an Output that becomes part/,
    );
    await assert.rejects(
      run(() => operators({ platform: { archive: { host: later("a b"), database: "runs", secret: "s" } } })),
      /Operators "shop": platform\.archive\.host is an Output that becomes part/,
    );
  });

  it("are placeholders to a transform, which may move them and is told what to do in place of giving them", async () => {
    const seen: unknown[] = [];
    const program = (value: unknown) => () =>
      operators({
        placement: { nodeSelector: { zone: later("north") } },
        transform: {
          runner: ({ spec }) => {
            const pod = spec.template.spec;
            seen.push(pod.nodeSelector?.zone);
            pod.nodeSelector = { "topology.kubernetes.io/zone": (value ?? pod.nodeSelector?.zone) as string };
          },
        },
      });
    const { inputs } = named(await run(program(undefined)), "shop-gear-runner");
    assert.match(String(seen[0]), /^argosy-known-later-\d+-x$/);
    const { nodeSelector } = (inputs as { spec: { template: { spec: { nodeSelector: object } } } }).spec
      .template.spec;
    assert.deepEqual(nodeSelector, { "topology.kubernetes.io/zone": "north" });
    await assert.rejects(
      run(program(later("south"))),
      /transform\.runner of the Deployment .* puts a value that is not plain data into spec\.template\.spec\.nodeSelector.*An option takes an Output in its place/,
    );
  });

  it("are refused if names and checks depend on them", async () => {
    await assert.rejects(
      run(() => void operators({ installation: later("x") as unknown as string })),
      /installation must be a string, not an output of Pulumi, which is not known yet/,
    );
  });
});
