import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { Program } from "../../chaos/inCluster/program";
import { loadOperators } from "../../components/loadOperators";

const PROJECT = path.resolve(__dirname, "../..");

describe("the program of a chaos run", () => {
  let program: Program;
  const handlers = () => path.join(program.folder, "handlers");

  beforeEach(() => {
    const options = { stack: "chaos", executions: ["resident", "pod"], image: "node:22" } as const;
    program = new Program(PROJECT, { ...options, ledger: "http://ledger:8080/" });
  });
  afterEach(() => program.remove());

  it("has an operator of each form that the loader accepts, and no other", () => {
    const operators = loadOperators(handlers());
    assert.deepEqual(
      operators.map(({ name, execution, finalize, env }) => ({
        name,
        execution,
        finalize,
        ledger: env.LEDGER,
      })),
      [
        { name: "chaos-pod", execution: "pod", finalize: true, ledger: "http://ledger:8080/" },
        { name: "chaos-resident", execution: "resident", finalize: true, ledger: "http://ledger:8080/" },
      ],
    );
  });

  it("renews the handler of one form alone", () => {
    program.renewHandler("pod", 2);
    const versionOf = (name: string) => readFileSync(path.join(handlers(), name, "version"), "utf8");
    assert.deepEqual([versionOf("chaos-pod"), versionOf("chaos-resident")], ["2", "1"]);
  });

  it("leaves nothing behind", () => {
    program.remove();
    assert.ok(!existsSync(program.folder) && !existsSync(program.state));
  });
});
