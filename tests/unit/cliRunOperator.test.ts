import assert from "node:assert/strict";
import { CommanderError } from "commander";
import { asCommandError, CommandError } from "../../cli/common/commandError";
import { ChildProcessTransport } from "../../cli/handler/childProcessTransport";
import { handlerEnvironment } from "../../cli/handler/handlerEnvironment";
import { ObservedTransport } from "../../cli/local/observedTransport";
import { OperatorError } from "../../definition/problems";
import { loadDefinition, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";

describe("cli: a handler's environment", () => {
  let folder: string;
  before(() => {
    folder = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
  });

  const definition = {
    ...widgetDefinition,
    name: "widget",
    env: { REGION: "north" },
    secretEnv: { TOKEN: { secret: "shop", key: "token" } },
  };

  it("has the definition's variables, and for a Secret's the author's own of that name", () => {
    const operator = loadDefinition(folder, definition);
    assert.deepEqual(handlerEnvironment(operator, { TOKEN: "t", OTHER: "o" }), {
      REGION: "north",
      TOKEN: "t",
    });
  });

  it("is refused where one is not set, by the variable's name", () => {
    const operator = loadDefinition(folder, definition);
    assert.throws(() => handlerEnvironment(operator, {}), {
      name: "OperatorError",
      message: /secretEnv\.TOKEN comes from key token of Secret shop.*Export TOKEN/,
    });
  });
});

describe("cli: what a handler writes between requests", () => {
  it("is printed, and what it writes during a request is left to the report", async () => {
    const stray: string[] = [];
    const command = [
      "sh",
      "-c",
      'read line; echo during >&2; sleep 0.1; echo "{}"; read end; echo after >&2',
    ];
    const transport = new ObservedTransport(
      new ChildProcessTransport({ command, folder: "/", env: {} }),
      (text) => stray.push(text),
    );
    const logged: string[] = [];
    await new Promise<void>((resolve) => {
      const handler = transport.start({
        // It writes the second line when its input ends, so not before the answer has been seen.
        output: () => handler.end(),
        log: (chunk) => void logged.push(chunk.toString()),
        exited: () => resolve(),
      });
      handler.write("{}\n");
    });
    assert.deepEqual(logged, ["during\n", "after\n"]);
    assert.deepEqual(stray, ["after\n"]);
  });
});

describe("cli: how a command ends", () => {
  it("knows the errors that the user can put right, and their exit codes", () => {
    const operator = asCommandError(new OperatorError(["crd is missing."]));
    assert.ok(operator instanceof CommandError);
    assert.deepEqual([operator.message, operator.exitCode], ["crd is missing.", 1]);
    const usage = asCommandError(new CommanderError(1, "commander.unknownOption", "unknown"));
    assert.ok(usage instanceof CommandError);
    // Commander has printed it.
    assert.deepEqual([usage.message, usage.exitCode], ["", 2]);
    const help = asCommandError(new CommanderError(0, "commander.helpDisplayed", "help"));
    assert.ok(help instanceof CommandError && help.exitCode === 0);
    const fault = new TypeError("x is undefined");
    assert.equal(asCommandError(fault), fault);
  });
});
