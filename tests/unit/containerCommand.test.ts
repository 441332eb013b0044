import assert from "node:assert/strict";
import { containerCommand, type HandlerContainer } from "../../cli/containers/runArguments";

const PROGRAM = { image: "shop/handler:1", command: ["python3", "main.py", "--level", "a b"] };

function commandOf(fields: Partial<HandlerContainer> = {}, handler: object = PROGRAM) {
  return containerCommand({
    operator: {
      handler,
      folder: "/home/me/handlers/cache",
    } as HandlerContainer["operator"],
    name: "argosy-cache-1",
    labels: { "argosy.dev/dev-process": "17" },
    sources: { handler: "/scratch/handler", engine: "/scratch/engine" },
    env: {},
    onHostNetwork: false,
    ...fields,
  });
}

/** The values of an option that may stand more than once. */
const valuesOf = (args: readonly string[], option: string) =>
  args.filter((_, index) => args[index - 1] === option);

describe("cli: how a handler's container is started", () => {
  it("is the pod's: user, read-only file system but /tmp, no capability, files at their places", () => {
    const { args } = commandOf();
    assert.deepEqual(args, [
      ...["run", "--rm", "--interactive", "--init", "--pull", "never"],
      ...["--name", "argosy-cache-1", "--label", "argosy.dev/dev-process=17"],
      ...["--user", "65532:65532", "--read-only", "--tmpfs", "/tmp:rw,exec,mode=1777"],
      ...["--cap-drop", "ALL"],
      ...["--security-opt", "no-new-privileges", "--security-opt", "label=disable"],
      ...["--mount", "type=bind,source=/scratch/handler,target=/argosy/handler,readonly"],
      ...["--mount", "type=bind,source=/scratch/engine,target=/argosy/engine,readonly"],
      ...["--workdir", "/argosy/handler", "--env", "HOME=/tmp"],
      ...["--entrypoint", "python3", "shop/handler:1", "main.py", "--level", "a b"],
    ]);
  });

  it("is within the mounted folder where folders are included, as in a pod", () => {
    const operator = {
      handler: { image: "i", command: ["./main"] },
      folder: "/home/me/handlers/cache",
      include: ["../shared"],
    } as unknown as HandlerContainer["operator"];
    assert.deepEqual(valuesOf(commandOf({ operator }).args, "--workdir"), ["/argosy/handler/cache"]);
  });

  it("has the account's files where a pod has them, and this machine's network, only where they are given", () => {
    const account = { handler: "/h", engine: "/e", account: "/a" };
    const { args } = commandOf({ sources: account, onHostNetwork: true });
    const target = "/var/run/secrets/kubernetes.io/serviceaccount";
    assert.ok(args.includes(`type=bind,source=/a,target=${target},readonly`));
    assert.deepEqual(valuesOf(args, "--network"), ["host"]);
    assert.doesNotMatch(commandOf().args.join(" "), /serviceaccount|--network/);
  });

  it("shows no value of a variable, unless it would change the engine's own program", () => {
    const env = {
      PASSWORD: "secret",
      LINES_: "a\nb",
      PATH: "/app/bin",
      DOCKER_HOST: "tcp://x",
      HOME: "/data",
    };
    const { args, env: passed } = commandOf({ env });
    assert.deepEqual(valuesOf(args, "--env"), [
      "HOME=/data",
      "PASSWORD",
      "LINES_",
      "PATH=/app/bin",
      "DOCKER_HOST=tcp://x",
    ]);
    assert.deepEqual(passed, { PASSWORD: "secret", LINES_: "a\nb" });
  });

  it("names folders with a comma or a quote so that an engine takes them", () => {
    const { args } = commandOf({ sources: { handler: '/a,b"c', engine: "/e" } });
    assert.ok(args.includes('type=bind,"source=/a,b""c",target=/argosy/handler,readonly'), args.join(" "));
  });

  it("turns the descriptor of a function's answers to standard output, by what its image surely has", () => {
    const python = commandOf({}, { image: "python:3", function: "main.py" });
    assert.deepEqual(programOf(python.args), ["python3", "-c", "python3 /argosy/engine/function.py main.py"]);
    const typescript = commandOf({}, { image: "node:22", function: "main.ts" });
    assert.deepEqual(programOf(typescript.args), [
      "node",
      "-e",
      "-- node /argosy/engine/function.js main.ts",
    ]);
  });

  /** The program, its option before our code, and the words after that. */
  function programOf(args: readonly string[]): string[] {
    const [program = "", , option = "", , ...rest] = args.slice(args.indexOf("--entrypoint") + 1);
    return [program, option, rest.join(" ")];
  }
});
