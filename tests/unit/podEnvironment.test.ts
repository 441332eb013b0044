import assert from "node:assert/strict";
import {
  DEFINITION_FILE,
  definitionFileContent,
  readDefinitionFile,
} from "../../runtime/programs/definitionFile";
import { type EngineCommand, RUNNER_ENVIRONMENT, RUNNER_PORTS } from "../../runtime/programs/layout";
import {
  addressOf,
  pathOf,
  readEnvironment,
  readSettings,
  SETTINGS_VARIABLE,
} from "../../runtime/programs/pod";
import { addressIn, runnerIdentityOf } from "../../runtime/programs/resident/hints";
import { addFiles, loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";

describe("a runner's environment", () => {
  const complete = {
    [RUNNER_ENVIRONMENT.namespace]: "argosy",
    [RUNNER_ENVIRONMENT.pod]: "shop-runner-0",
    [RUNNER_ENVIRONMENT.address]: "10.0.0.7",
    [RUNNER_ENVIRONMENT.template]: "6d4cf56db6",
    [RUNNER_ENVIRONMENT.instanceId]: "",
    [RUNNER_ENVIRONMENT.workflow]: "shop-x2",
    [RUNNER_ENVIRONMENT.runsKept]: "60",
    [RUNNER_ENVIRONMENT.failedRunsKept]: "600",
    [RUNNER_ENVIRONMENT.archive]: "true",
    [RUNNER_ENVIRONMENT.eventPath]: "argosy",
    [RUNNER_ENVIRONMENT.concurrency]: "32",
    [RUNNER_ENVIRONMENT.resyncSeconds]: "600",
    [RUNNER_ENVIRONMENT.without]: "",
    [RUNNER_ENVIRONMENT.tracesEndpoint]: "http://collector:4318",
    [RUNNER_ENVIRONMENT.tracesHeaders]: "a=b",
    [RUNNER_ENVIRONMENT.tracesOneIn]: "10",
  };

  it("says which halves of Argo are missing, and refuses what is none", () => {
    const without = (halves: string) =>
      readEnvironment("resident", { ...complete, [RUNNER_ENVIRONMENT.without]: halves }).without;
    assert.deepEqual(without("events"), ["events"]);
    assert.deepEqual(without("events,workflows"), ["events", "workflows"]);
    assert.throws(() => without("bus"), /ARGOSY_WITHOUT names "bus", not one of events, workflows/);
  });

  it("is read, whether there is an instance id or none", () => {
    assert.deepEqual(readEnvironment("resident", complete), {
      namespace: "argosy",
      pod: "shop-runner-0",
      address: "10.0.0.7",
      instanceId: "",
      template: "6d4cf56db6",
      workflow: "shop-x2",
      runsKept: "60",
      failedRunsKept: "600",
      archive: "true",
      eventPath: "argosy",
      concurrency: "32",
      resyncSeconds: "600",
      tracesEndpoint: "http://collector:4318",
      tracesHeaders: "a=b",
      tracesOneIn: "10",
      without: [],
    });
    const named = { ...complete, [RUNNER_ENVIRONMENT.instanceId]: "argosy" };
    assert.equal(readEnvironment("run", named).instanceId, "argosy");
  });

  const needed: readonly [EngineCommand, readonly (keyof typeof RUNNER_ENVIRONMENT)[]][] = [
    ["resident", ["namespace", "pod", "address", "instanceId", "runsKept", "failedRunsKept"]],
    ["run", ["namespace", "pod", "instanceId", "workflow"]],
    ["keep", ["namespace", "pod", "eventPath"]],
  ];
  for (const [command, variables] of needed) {
    it(`names each variable that "${command}" needs and does not find`, () => {
      for (const variable of variables) {
        const name = RUNNER_ENVIRONMENT[variable];
        const { [name]: _, ...rest } = complete;
        assert.throws(
          () => readEnvironment(command, rest),
          new RegExp(`: ${name} must be set for "${command}"`),
        );
      }
      const all = variables.map((variable) => RUNNER_ENVIRONMENT[variable]).join(", ");
      assert.throws(() => readEnvironment(command, {}), new RegExp(`: ${all} must be set`));
    });
  }

  it("takes an empty variable for one that is missing, but for the instance id", () => {
    const empty = { ...complete, [RUNNER_ENVIRONMENT.pod]: "" };
    assert.throws(() => readEnvironment("resident", empty), /ARGOSY_POD must be set/);
  });

  it("says of each number that it is none", () => {
    const numbers = [
      ["resident", "concurrency"],
      ["resident", "resyncSeconds"],
      ["resident", "runsKept"],
      ["resident", "failedRunsKept"],
    ] as const;
    for (const [command, variable] of numbers) {
      const name = RUNNER_ENVIRONMENT[variable];
      const message = `environment: ${name} is "many", not a whole number. Deploy the operator again.`;
      assert.throws(() => readEnvironment(command, { ...complete, [name]: "many" }), { message });
    }
  });

  it("needs no Workflow to reconcile for ever", () => {
    const { [RUNNER_ENVIRONMENT.workflow]: _, ...rest } = complete;
    assert.equal(readEnvironment("resident", rest).workflow, "");
  });
});

describe("a runner's settings", () => {
  it("are those of a pod, where no test says otherwise", () => {
    const settings = readSettings({});
    assert.equal(pathOf(settings, "pipes"), "/argosy/pipes");
    assert.deepEqual(addressOf(settings, "hints"), { port: RUNNER_PORTS.hints });
    assert.equal(settings.leaseSeconds, 15);
  });

  it("let several of them be on one machine", () => {
    const given = { root: "/tmp/a", host: "127.0.0.2", ports: { hints: 1, metrics: 2 } };
    const settings = readSettings({ [SETTINGS_VARIABLE]: JSON.stringify(given) });
    assert.equal(pathOf(settings, "definition"), "/tmp/a/argosy/definition");
    assert.deepEqual(addressOf(settings, "metrics"), { host: "127.0.0.2", port: 2 });
    assert.equal(settings.leaseSeconds, 15);
  });
});

describe("a runner's identity", () => {
  for (const address of ["10.0.0.7", "fd00::7"]) {
    it(`tells its address, ${address}, and is never that of another process`, () => {
      const runner = ["shop-runner-5d4f8c7b9-x2x2x", address] as const;
      const identity = runnerIdentityOf(...runner);
      assert.ok(identity.startsWith(`shop-runner-5d4f8c7b9-x2x2x_${address}_`));
      assert.equal(addressIn(identity), address);
      assert.notEqual(runnerIdentityOf(...runner), identity);
    });
  }

  it("of another kind of process tells no address", () => {
    for (const other of ["", "host-1a2b", "a_b", "__", "a__c", "a_b_c_d"]) {
      assert.equal(addressIn(other), undefined, other);
    }
  });
});

describe("the definition in a pod", () => {
  let folder: string;
  beforeEach(() => {
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
  });

  const operator = (more: object = {}) =>
    loadDefinition(folder, { ...widgetDefinition, name: "shop", ...more });

  function write(content: string): void {
    addFiles(folder, { [DEFINITION_FILE]: content });
  }

  it("is the operator, but for what only its author's machine has", () => {
    const given = operator({ finalize: true, namespaces: ["a", "b"], env: { REGION: "north" } });
    write(definitionFileContent(given));
    assert.deepEqual(readDefinitionFile(folder), {
      ...given,
      folder: "/argosy/handler",
      crd: {},
      overridden: [],
    });
  });

  it("says nothing to the pods of runs that only the resync needs: they are no other program if it changes", () => {
    const given = operator({ execution: "pod", concurrency: 3, resyncSeconds: 120 });
    const content = definitionFileContent(given);
    const other = operator({ execution: "pod", concurrency: 4, resyncSeconds: 180 });
    assert.equal(definitionFileContent(other), content);
    write(content);
    const read = readDefinitionFile(folder);
    assert.deepEqual(
      { ...read, concurrency: 3, resyncSeconds: 120 },
      { ...given, folder: "/argosy/handler", crd: {}, overridden: [] },
    );
    assert.deepEqual([read.concurrency, read.resyncSeconds], [1, Number.POSITIVE_INFINITY]);
  });

  it("does not depend on the folder, or on what the CRD says to people", () => {
    const here = definitionFileContent(operator());
    const described = {
      ...operator(),
      folder: "/elsewhere",
      crd: { description: "better words" },
      overridden: ["env.A"],
      replicas: 3,
    };
    assert.equal(definitionFileContent(described), here);
    assert.ok(!here.includes(folder));
  });

  for (const [what, content] of [
    ["no JSON", "{"],
    ["a list", "[]"],
    ["nothing", "null"],
  ] as const) {
    it(`is refused by its file where it is ${what}`, () => {
      write(content);
      assert.throws(() => readDefinitionFile(folder), {
        message: /operator\.json: /,
      });
    });
  }

  it("is refused by its file's name where the file does not exist", () => {
    assert.throws(() => readDefinitionFile(folder), {
      message: /operator\.json: ENOENT/,
    });
  });
});
