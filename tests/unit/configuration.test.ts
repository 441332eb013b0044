import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import fc from "fast-check";
import { parse } from "yaml";
import { readStackConfiguration } from "../../cli/render/stackConfiguration";
import {
  type Configuration,
  KEYS as DECLARED,
  readConfiguration,
} from "../../components/arguments/configuration";
import { ConfigurationError } from "../../components/errors";
import { buildEventBus } from "../../components/manifests/eventPath/eventBus";
import { problemsIn } from "./operatorFolder";
import { operatorOptions } from "./operatorManifests";
import { assertEach } from "./support/lists";

const ROOT = path.resolve(__dirname, "../..");

/** A key as Pulumi.yaml declares it. */
interface Declaration {
  readonly type: string;
  readonly items?: { readonly type: string };
  readonly default: unknown;
  readonly description: string;
}

const { name: project, config: declared } = readYaml("Pulumi.yaml") as {
  readonly name: string;
  readonly config: Readonly<Record<string, Declaration>>;
};
/** What the program gives itself. */
const PROGRAM = { handlers: "./handlers" };
const KEYS = Object.keys(DECLARED);
const { values: DEFAULTS } = readStackConfiguration(ROOT, "dev");

function readYaml(file: string): unknown {
  return parse(readFileSync(path.join(ROOT, file), "utf8"));
}

/** The defaults with other values of some keys, as Pulumi gives them: as text. */
function read(settings: Partial<Record<string, string>>): Configuration {
  const own = Object.entries(settings).map(([key, value]) => [`${project}:${key}`, value]);
  return readConfiguration(PROGRAM, project, { ...DEFAULTS, ...Object.fromEntries(own) });
}

function problemsOf(settings: Partial<Record<string, string>>): readonly string[] {
  return problemsIn(() => read(settings), ConfigurationError);
}

describe("the keys of the configuration", () => {
  it("have defaults that are a configuration", () => {
    assert.deepEqual(problemsOf({}), []);
    assert.deepEqual(readConfiguration(PROGRAM, project, {}).parts, "all");
  });
});

describe("the stacks' files", () => {
  const files = readdirSync(ROOT).filter((file) => /^Pulumi\..+\.yaml$/.test(file));

  it("are one for each end", () => {
    assert.deepEqual(files, ["Pulumi.dev.yaml", "Pulumi.prod.yaml"]);
  });

  for (const file of files) {
    it(`${file} sets declared keys, each to its type`, () => {
      const { config } = readYaml(file) as { readonly config: Readonly<Record<string, unknown>> };
      for (const [key, value] of Object.entries(config)) {
        // Keys of the project have no prefix, so that a project with another name has them as well.
        const declaration = declared[key];
        assert.ok(declaration || key === "kubernetes:context", key);
        if (declaration) assert.equal(typeOf(value), declaration.type, key);
      }
      const { values } = readStackConfiguration(ROOT, file.split(".")[1] ?? "");
      readConfiguration(PROGRAM, project, values);
    });
  }
});

describe("the configuration", () => {
  /** For each key a value that is wrong, and what is said of it. */
  const WRONG: Readonly<Record<string, readonly (readonly [value: string, complaint: RegExp])[]>> = {
    parts: [["both", /is "both", not one of "all", "platform", "operators"\. The default is "all"\./]],
    platformStack: [["a b", /is "a b", not the name of a stack\. Give "organization\/project\/stack"/]],
    installation: [
      ["a-shard-2", /ends like a part of another installation\. Use a name that does not end in "-outside",/],
      ["a".repeat(21), /not a DNS label of at most 20 characters\. Use at most 20 lower-case letters/],
      ["", /is empty\. Use/],
    ],
    namespace: [
      ["shop.prod", /is "shop\.prod", not the name of a namespace\. Name one/],
      ["kube-system", /is "kube-system", which is Kubernetes' own\. Name another/],
    ],
    controllerNamespace: [["-", /is "-", not the name of a namespace\. Name one/]],
    createNamespaces: [["yes", /must be true or false, not the string "yes"\. The default is true\./]],
    argoEvents: [
      ["true", /is "true", not one of "install", "share", "adopt", "none"\. The default is "install"/],
    ],
    argoWorkflows: [["Install", /is "Install", not one of/]],
    instanceId: [["a b", /is "a b", not the value of a label\. The default is "argosy"/]],
    jetStreamVersion: [
      ["2.10 latest", /is "2\.10 latest", not a version\. Give one/],
      ["2.10.29", /is "2\.10\.29", and argoEvents is "install"\. Leave it out/],
    ],
    eventBusReplicas: [
      ["2", /is 2\. Give 1, or an odd number from 3 to 7\./],
      ["three", /must be a whole number, not the string "three"\. Give 1/],
    ],
    eventBusStorage: [
      ["10 GB", /is "10 GB"\. Give a size of 128Mi or more, for example "1Gi"/],
      ["99999999P", /is "99999999P"\. Give a size/],
    ],
    eventBusStorageClassName: [
      ["Fast_Disk", /is "Fast_Disk", not a storage class\. kubectl get storageclass/],
      ["fast", /is given without storage\. Give the volume's size/],
    ],
    outsideEventsReplicas: [["2", /is 2\. Give 1, or an odd number from 3 to 7\./]],
    outsideEventsStorage: [["1Mi", /is "1Mi"\. Give a size of 128Mi or more/]],
    outsideEventsStorageClassName: [["fast", /is given without storage\. Give the volume's size/]],
    outsideEventsIntakes: [["6", /is 6, outside of 1 to 5\. The intakes share the work/]],
    runnerReplicas: [["0", /is 0, outside of 1 to 5\. One leads/]],
    runsKeptSeconds: [
      ["60s", /must be a whole number, not the string "60s"\. Give seconds/],
      ["-1", /is -1, outside of 0 to 2147483647/],
    ],
    failedRunsKeptSeconds: [["", /must be a whole number, not the string ""\. Give seconds/]],
    traces: [
      [
        "http://collector:4318",
        /must be an object, not the string .*\. Give endpoint, and if needed headers/,
      ],
      ['{"headers":{"secret":"a","key":"b"}}', /\.endpoint is missing\. Give the address of a collector/],
      ['{"endpoint":"https://me:secret@example.com"}', /\.endpoint has a user or a password in it\. Give/],
      ['{"endpoint":"https://example.com?api-key=secret"}', /\.endpoint has a query or a fragment in it/],
      ['{"endpoint":"grpc://a:4317"}', /\.endpoint begins with grpc:, and not with http: or https:/],
      ['{"endpoint":"http://a","headers":{"key":"b"}}', /\.headers\.secret is missing\. Name a Secret/],
      ['{"endpoint":"http://a","oneIn":0}', /\.oneIn is 0, outside of 1 to 1000000/],
    ],
    archive: [
      [
        "db.example.com",
        /must be an object, not the string "db.example.com"\. Give host, database and secret/,
      ],
      ['{"host":"db","secret":"s"}', /\.database is missing\. Give its name/],
      [
        '{"host":"db:5432","database":"runs","secret":"s"}',
        /\.host is "db:5432", not a host\. Give its name or address/,
      ],
      [
        '{"host":"db","database":"runs","secret":"s","sslMode":"prefer"}',
        /\.sslMode is "prefer", not one of/,
      ],
      [
        '{"host":"db","database":"runs","secret":"s","clusterName":"it\'s"}',
        /\.clusterName is "it's", not a DNS label/,
      ],
    ],
    monitoring: [
      ['{"podMonitors":true}', /\.podMonitors is not a known field\. Did you mean podMonitor\?/],
      ['{"podMonitor":"yes"}', /\.podMonitor must be true or false, not the string "yes"/],
      ['{"labels":{"release":"a b"}}', /\.labels\.release is "a b", not the value of a label\. Give one/],
      ['{"namespace":"a.b"}', /\.namespace is "a\.b", not the name of a namespace\. Name the one/],
    ],
    guards: [
      ['{"child":true}', /\.child is not a known field\. Did you mean children\?/],
      ['{"annotations":["ops"]}', /\.annotations must be an object, not a list\. Give groups, for example/],
      ['{"annotations":{}}', /\.annotations\.groups is missing\. Give the groups that may set them/],
      ['{"children":true,"exempt":[""]}', /\.exempt\[0\] is empty\. Name a group/],
      [
        '{"children":true,"exempt":["system:serviceaccount:velero:server"]}',
        /\.exempt\[0\] is the account .*, and not a group\. .* are system:serviceaccounts:velero\. Name a group/,
      ],
      ['{"exempt":["ops"]}', /\.exempt is given without a guard\. Set children to true, or give annotations/],
    ],
    registry: [["https://mirror.example.com", /is "https:\/\/mirror.*not a registry\. Give host and path/]],
    imagePullSecrets: [
      ["pull", /must be a list, not the string "pull"\. Give a list of names of Secrets/],
      ['["Pull"]', /\[0\] is "Pull", not the name of a Secret\. Name a Secret/],
    ],
    nodeSelector: [
      ["[]", /must be an object, not a list\. Give labels of nodes/],
      ['{"disk":1}', /\.disk must be a string, not the number 1/],
      ['{"disk":"a b"}', /\.disk is "a b", not the value of a label\. Give one/],
      ['{"a b":"ssd"}', /\.a b is "a b", not the key of a label\. Give one/],
    ],
    tolerations: [
      ["{}", /must be a list, not an object\. Give a list of tolerations/],
      ['[{"efect":"NoSchedule"}]', /\[0\]\.efect is not a known field\. Did you mean .*effect\?/],
      ['[{"effect":"Never"}]', /\[0\]\.effect is "Never", not one of/],
    ],
    data: [["kept", /is "kept", not one of "keep", "protect", "delete"\. The default is "keep"/]],
  };
  for (const key of KEYS) {
    for (const [value, complaint] of WRONG[key] ?? []) {
      it(`refuses ${key} ${JSON.stringify(value)} with the key and the remedy`, () => {
        const [problem = "", ...others] = problemsOf({ [key]: value });
        assert.deepEqual(others, []);
        assert.ok(problem.startsWith(`${project}:${key}`), problem);
        assert.match(problem, complaint);
      });
    }
  }

  it("reports all problems at once", () => {
    const problems = problemsOf({ parts: "both", runnerReplicas: "0", data: "no" });
    assertEach(problems, (problem) => problem.split(" ")[0], [
      "argosy:parts",
      "argosy:runnerReplicas",
      "argosy:data",
    ]);
  });

  it("does not show the value of a key that is a secret", () => {
    const values = {
      "argosy:archive": '{"host":"a b","database":"d","secret":"s"}',
      "argosy:registry": "a b",
    };
    const isSecret = (key: string) => key === "argosy:archive";
    assert.throws(
      () => readConfiguration(PROGRAM, project, values, isSecret),
      ({ problems }: ConfigurationError) => {
        assert.deepEqual(problems, [
          "argosy:archive.host is wrong. Give its name or address.",
          'argosy:registry is "a b", not a registry. Give host and path without a scheme, for example "mirror.example.com/hub".',
        ]);
        return true;
      },
    );
    const problems = problemsOf({ platformStack: "org/argosy/hidden" });
    assert.ok(!String(problems).includes("hidden"), String(problems));
  });

  it("does not judge the keys of others", () => {
    const values = { ...DEFAULTS, "kubernetes:context": "prod", "argosy-other:parts": "both" };
    assert.deepEqual(readConfiguration(PROGRAM, project, values), read({}));
  });

  it("is that of a project with any name, and a key with another project's name is refused", () => {
    const renamed = (values: Record<string, string>) => readConfiguration(PROGRAM, "shop", values);
    assert.equal(renamed({ "shop:runsKeptSeconds": "60" }).args.runsKeptSeconds, 60);
    assert.throws(
      () => renamed({ "argosy:runsKeptSeconds": "60" }),
      /argosy:runsKeptSeconds is set, and this project is called shop\. Write runsKeptSeconds, without a prefix\./,
    );
  });

  it("refuses a key that nothing reads, and names the key that was meant and the command", () => {
    assert.deepEqual(problemsOf({ evntBusReplicas: "3" }), [
      "argosy:evntBusReplicas is set, and nothing reads it. Did you mean eventBusReplicas? Remove it: pulumi config rm evntBusReplicas. If the program reads it, name it in ownKeys.",
    ]);
    assert.match(
      problemsOf({ token: "x" })[0] ?? "",
      /docs\/reference\/configuration\.md has all keys\. Remove it/,
    );
    const values = { "argosy:token": "x" };
    assert.deepEqual(readConfiguration({ ...PROGRAM, ownKeys: ["token"] }, project, values).args, PROGRAM);
    assert.match(
      problemsOf({ "nodeSelector.disk": "ssd" })[0] ?? "",
      /nothing reads it\. Set a part of nodeSelector with --path\. Remove it: pulumi config rm nodeSelector\.disk\./,
    );
    assert.doesNotMatch(problemsOf({ "$(reboot)": "x" })[0] ?? "", /config rm/);
  });

  it("is laid over the program's arguments, and refuses a key for one of them", () => {
    const given = { ...PROGRAM, replicas: 2, placement: { labels: { team: "shop" } } };
    const values = { "argosy:registry": "mirror.example.com", "argosy:initlessPods": "true" };
    assert.deepEqual(readConfiguration(given, project, { ...DEFAULTS, ...values }).args, {
      ...given,
      placement: { labels: { team: "shop" }, registry: "mirror.example.com" },
      platform: { initlessPods: true },
      data: "delete",
    });
    assert.throws(
      () => readConfiguration(given, project, { "argosy:runnerReplicas": "3" }),
      /argosy:runnerReplicas is set, and the program gives replicas\. Leave the argument out, or remove the key: pulumi config rm runnerReplicas\./,
    );
    // Then the component refuses it.
    const wrong = { ...PROGRAM, eventBus: 3 } as unknown as typeof PROGRAM;
    assert.deepEqual(readConfiguration(wrong, project, { "argosy:eventBusReplicas": "3" }).args, wrong);
  });

  it("leaves texts as they are, whatever they look like", () => {
    const instanceIds = ["1", "2.10", "true", "null", "1e3"];
    for (const instanceId of instanceIds)
      assert.equal(read({ instanceId }).args.platform?.instanceId, instanceId);
    const version = read({ argoEvents: "adopt", jetStreamVersion: "2.10" });
    assert.equal(version.args.platform?.jetStreamVersion, "2.10");
  });

  it("reads lists and objects", () => {
    const tolerations = [
      { key: "dedicated", operator: "Exists", effect: "NoSchedule", tolerationSeconds: 60 },
    ];
    const settings = read({
      imagePullSecrets: '["pull"]',
      nodeSelector: '{"disk":"ssd","old":""}',
      tolerations: JSON.stringify(tolerations),
    });
    const placement = { imagePullSecrets: ["pull"], nodeSelector: { disk: "ssd", old: "" }, tolerations };
    assert.deepEqual(settings.args.placement, placement);
  });

  it("accepts as small a volume as the event bus does, and none that this refuses", () => {
    const storage = (eventBusStorage: string) => read({ eventBusStorage }).args.eventBus;
    const { platform, placement } = operatorOptions();
    const build = (size: string) =>
      buildEventBus({ name: "argosy", platform, placement, eventBus: { replicas: 1, storage: size } });
    assert.deepEqual(storage("128Mi"), { storage: "128Mi" });
    assert.doesNotThrow(() => build("128Mi"));
    assert.throws(() => build("127Mi"), RangeError);
  });

  it("accepts operators alone with the platform's stack, and only then", () => {
    assert.match(problemsOf({ parts: "operators" })[0] ?? "", /^argosy:platformStack is "".*Name the stack/);
    assert.deepEqual(problemsOf({ parts: "operators", platformStack: "org/argosy/platform" }), []);
    for (const parts of ["all", "platform"]) {
      const [problem = ""] = problemsOf({ parts, platformStack: "org/argosy/platform" });
      assert.match(
        problem,
        /^argosy:platformStack is set.*Set parts to "operators", or remove platformStack/,
      );
    }
  });

  it("refuses the keys that nothing reads in a stack with only some of the parts", () => {
    const own = { namespace: "shops", initlessPods: "true" };
    const common = { registry: "mirror.example.com", data: "keep" };
    const operators = { installation: "shop", eventBusReplicas: "3", runnerReplicas: "2" };
    const everything = { ...own, ...common, ...operators };
    const refused = (parts: Record<string, string>) =>
      problemsOf({ ...everything, ...parts }).map((each) => each.replace(/ is set, and parts is/, ""));
    assert.deepEqual(refused({ parts: "all" }), []);
    assert.deepEqual(
      refused({ parts: "platform" }),
      Object.keys(operators).map((key) => `argosy:${key} "platform". Set it in the operators' stacks.`),
    );
    assert.deepEqual(
      refused({ parts: "operators", platformStack: "org/argosy/platform" }),
      Object.keys(own).map((key) => `argosy:${key} "operators". Set it in the platform's stack.`),
    );
  });

  it("whatever is written, either holds or is refused with keys and remedies", () => {
    const json = fc.json();
    const scrap = fc.constantFrom(
      "",
      "1",
      "-0",
      "01",
      "1e400",
      "NaN",
      "true",
      '"',
      "{",
      "[1,",
      "null",
      '{"__proto__":1}',
    );
    const entry = fc.tuple(
      fc.oneof(fc.constantFrom(...KEYS), fc.string()),
      fc.oneof(scrap, json, fc.string()),
    );
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 4 }), (entries) => {
        const problems = problemsOf(Object.fromEntries(entries));
        for (const problem of problems)
          assert.match(problem, /^argosy:.* .+\. .+[.?]$|^argosy:.*shows them\.$/s);
      }),
      { numRuns: 1000 },
    );
  });
});

/** The type that Pulumi.yaml would give a value. */
function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
