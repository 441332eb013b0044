import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, symlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import path from "node:path";
import { commands } from "../../cli/argosy";
import { rememberVariables } from "../environment";
import { writeFolder } from "./operatorFolder";
import { runArgosy } from "./support/runArgosy";

const EXAMPLE = path.resolve(__dirname, "../../examples/memcached");

/** Wrong input of the commands. None of it may start a control plane, whose programs the cache would get. */
describe("the command argosy says what is wrong, and with which remedy:", () => {
  let folder: string;
  let cache: string;
  const putBack = rememberVariables("ARGOSY_CACHE", "KUBECONFIG", "PATH");

  beforeEach(() => {
    folder = writeFolder({
      "missing/Pulumi.yaml": "name: missing\nruntime: nodejs\n",
      "empty/Pulumi.yaml": "name: empty\nruntime: nodejs\n",
      "empty/handlers/readme": "",
      "broken/Pulumi.yaml": "name: broken\nruntime: nodejs\n",
      "broken/handlers/shop/operator.yaml": "crd: 3\n",
      "handlers/readme": "",
      file: "",
      kubeconfig: {
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster: { server: "https://127.0.0.1:9" } }],
        users: [{ name: "u", user: { token: "t" } }],
        contexts: [{ name: "one", context: { cluster: "c", user: "u" } }],
        "current-context": "one",
      },
    });
    symlinkSync(EXAMPLE, path.join(folder, "handlers/memcached"));
    cache = path.join(folder, "cache");
    process.env.ARGOSY_CACHE = cache;
    process.env.KUBECONFIG = path.join(folder, "kubeconfig");
  });
  afterEach(putBack);

  /** What the command complains about. It prints nothing else, and no stack. */
  async function complaint(expectedCode: number, ...args: string[]): Promise<string> {
    const { result, stdout, stderr } = await runArgosy(...args);
    assert.deepEqual([result, stdout], [expectedCode, ""], stderr);
    assert.doesNotMatch(stderr, /^ +at |defect of Argosy/m);
    assert.ok(!existsSync(cache));
    return stderr;
  }
  const within = (name: string) => path.join(folder, name);

  it("help for an unknown command", async () => {
    assert.equal(
      await complaint(2, "help", "rendr"),
      "error: unknown command 'rendr'\n(Did you mean render?)\n",
    );
  });

  for (const { name, command } of commands()) {
    const withValue = command.options.filter(({ required, optional }) => required || optional);
    if (withValue.length === 0) continue;
    it(`${name} with an empty value of an option, which would mean the default`, async () => {
      const words = command.registeredArguments.map(() => "memcached/sessions");
      const needed = withValue.filter(({ mandatory }) => mandatory).flatMap(({ long }) => [long ?? "", "x"]);
      for (const { long = "", parseArg } of withValue) {
        const text = await complaint(2, name, ...words, ...needed, long ?? "", "");
        if (parseArg) assert.match(text, /^error: option '.*' argument '' is invalid\./);
        else assert.equal(text, `${long} has an empty value. Give another one, or leave out the option.\n`);
      }
    });
  }

  for (const [command = "", ...rest] of [
    ["explain"],
    ["runs", "--failed"],
    ["logs", "--follow"],
    ["replay"],
    ["pause", "memcached/sessions"],
    ["resume"],
    ["diff", "memcached"],
    ["record"],
  ]) {
    it(`${command} of an object without a name, before the cluster is asked`, async () => {
      const text = await complaint(2, command, ...rest, "memcached/");
      assert.equal(
        text,
        '"memcached/" does not name an object. Write KIND/NAME, for example memcached/sessions.\n',
      );
    });
  }

  it("explain of something that is no KIND/NAME", async () => {
    assert.match(await complaint(2, "explain", "sessions"), /^"sessions" does not name an object\./);
  });

  for (const command of ["dev", "test"]) {
    it(`${command} without a folder handlers`, async () => {
      const text = await complaint(2, command, "--project", within("missing"));
      assert.match(text, /missing\/handlers: the folder is missing\. Create it, or .* --handlers\.\n$/);
    });

    it(`${command} with an empty folder handlers`, async () => {
      const text = await complaint(1, command, "--project", within("empty"));
      assert.match(text, /empty\/handlers: the folder has no operator in it\. Give each operator a folder/);
    });

    it(`${command} with a missing folder of operators`, async () => {
      const text = await complaint(2, command, "--handlers", within("none"));
      assert.match(text, /^--handlers .*none: there is no such folder\.\n$/);
    });

    it(`${command} with an operator that is not in order`, async () => {
      const text = await complaint(1, command, "--project", within("broken"));
      assert.match(text, /broken\/handlers\/shop\/operator\.yaml/);
    });
  }

  for (const command of ["dev", "test", "render", "verdict"]) {
    it(`${command} with a folder that has no Pulumi.yaml`, async () => {
      const ref = command === "verdict" ? ["main"] : [];
      const text = await complaint(2, command, ...ref, "--project", within("handlers"));
      assert.match(text, /handlers has no Pulumi\.yaml\. .*--project, .*argosy -- init\n$/);
    });
  }

  for (const [command, ...rest] of [["start"], ["dev", "--handlers", "handlers"]]) {
    const args = () => rest.map((word) => (word === "handlers" ? within(word) : word));

    it(`${command} with a context that there is not`, async () => {
      const text = await complaint(1, command ?? "", ...args(), "--context", "two");
      assert.match(text, /has no context "two"\. It has: one \(kubectl config get-contexts\)\.\n$/);
    });

    it(`${command} with a kubeconfig that is missing`, async () => {
      const text = await complaint(1, command ?? "", ...args(), "--kubeconfig", within("none"));
      assert.match(text, /none is not a valid kubeconfig: .*no such file/);
    });

    it(`${command} with a cluster that does not answer`, async () => {
      const text = await complaint(1, command ?? "", ...args(), "--context", "one");
      assert.match(
        text,
        /^the cluster at https:\/\/127\.0\.0\.1:9 does not answer: .*REFUSED.* Start it, or .*--context/,
      );
    });

    it(`${command} with a cache that cannot be written`, async () => {
      process.env.ARGOSY_CACHE = within("file");
      const text = await complaint(1, command ?? "", ...args());
      assert.match(text, /the cache folder .*file cannot be written: .* Set ARGOSY_CACHE/);
    });
  }

  it("test of an operator that there is not", async () => {
    const text = await complaint(2, "test", "memcachd", "--handlers", within("handlers"));
    assert.equal(text, "There is no operator memcachd. Did you mean memcached?\n");
    assert.equal(
      await complaint(2, "test", "postgres", "--handlers", within("handlers")),
      "There is no operator postgres. Known operators: memcached.\n",
    );
  });

  it("a port that is none", async () => {
    assert.match(await complaint(2, "dev", "--port", "x"), /It must be a port, 0 to 65535\.\n$/);
  });

  it("a port that another program has", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const taken = ["--port", String(port), "--handlers", within("handlers")];
    assert.equal(
      await complaint(2, "dev", ...taken),
      `Another program uses port ${port}. Choose another one with --port.\n`,
    );
    server.close();
  });

  it("options of an object to debug without one", async () => {
    for (const option of [
      ["--namespace", "shop"],
      ["--debug-port", "9230"],
    ]) {
      const text = await complaint(2, "dev", ...option, "--handlers", within("handlers"));
      assert.match(text, /are for the object of --debug\. Give --debug too\.\n$/);
    }
  });

  it("too many arguments", async () => {
    assert.match(await complaint(2, "render", "prod"), /too many arguments/);
  });

  for (const [words, says] of [
    ["render --json --out out", /--json .* --out/],
    ["dev --in-image --debug memcached/a", /--debug and --in-image exclude each other/],
    ["dev --keep --context mine", /--keep is for the control plane of argosy dev/],
  ] as const)
    it(`options that exclude each other: ${words}`, async () => {
      assert.match(await complaint(2, ...words.split(" ")), says);
    });
});
