import assert from "node:assert/strict";
import { utimesSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";
import { openUsersCluster } from "../../cli/cluster/openCluster";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import { connectionFromKubeconfig, KubeconfigError } from "../../preflight/kubeconfig";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import { rememberVariables } from "../environment";
import { addFiles, writeFolder } from "./operatorFolder";
import { errorOf } from "./support/failures";
import { json, refuse, TestApiServer, useApiServer } from "./support/testApiServer";

const KUBECONFIG = {
  apiVersion: "v1",
  kind: "Config",
  "current-context": "one",
  clusters: [{ name: "c", cluster: { server: "https://one.example.com:6443" } }],
  contexts: [{ name: "one", context: { cluster: "c", user: "u", namespace: "shop" } }],
  users: [{ name: "u", user: { token: "t" } }],
};

describe("the connection of a kubeconfig", () => {
  let root: string;
  beforeEach(() => {
    root = writeFolder({ config: KUBECONFIG, empty: "", broken: "a: [" });
  });

  it("comes from a file, or from the text itself, as Pulumi's provider takes both", async () => {
    for (const source of [path.join(root, "config"), JSON.stringify(KUBECONFIG)]) {
      const { server, namespace, token } = await connectionFromKubeconfig(source);
      assert.deepEqual({ server, namespace }, { server: "https://one.example.com:6443", namespace: "shop" });
      assert.equal(await token?.(), "t");
    }
  });

  it("comes from a file in the home directory, which no shell has expanded", async () => {
    const restore = rememberVariables("HOME");
    process.env.HOME = root;
    const users = [{ name: "u", user: { tokenFile: "token" } }];
    addFiles(root, { ".kube/config": { ...KUBECONFIG, users }, ".kube/token": "theirs\n" });
    try {
      const { server, token } = await connectionFromKubeconfig("~/.kube/config");
      assert.equal(server, "https://one.example.com:6443");
      assert.equal(await token?.(), "theirs");
    } finally {
      restore();
    }
  });

  it("is that of another cluster in the kubeconfig, if one is named", async () => {
    const clusters = ["one", "two"].map((each) => ({
      name: each,
      cluster: { server: `https://${each}.example.com:6443`, "tls-server-name": `${each}.internal` },
    }));
    const contexts = [{ name: "one", context: { cluster: "one", user: "u" } }];
    const text = JSON.stringify({ ...KUBECONFIG, clusters, contexts });
    const { server, serverName, token } = await connectionFromKubeconfig(text, "one", "two");
    assert.deepEqual([server, serverName], ["https://two.example.com:6443", "two.internal"]);
    assert.equal(await token?.(), "t");
    await assert.rejects(
      connectionFromKubeconfig(text, undefined, "three"),
      /the kubeconfig has no cluster "three"\. It has: one, two/,
    );
  });

  it("has the token of a file that the kubeconfig names, and a new one when the file changes", async () => {
    const users = [{ name: "u", user: { token: "t", tokenFile: "tokens/u" } }];
    addFiles(root, { config: { ...KUBECONFIG, users }, "tokens/u": "first\n" });
    const { token } = await connectionFromKubeconfig(path.join(root, "config"));
    assert.equal(await token?.(), "first");
    addFiles(root, { "tokens/u": "second\n" });
    utimesSync(path.join(root, "tokens", "u"), 1, 1);
    assert.equal(await token?.(), "second");
  });

  it("acts as whom the kubeconfig names, as kubectl does, and never with the user's own rights", async () => {
    const token = { metadata: {}, spec: { expirationSeconds: 3600 }, status: { token: "account" } };
    const api = await TestApiServer.start(({ method }, response) =>
      json(response, method === "POST" ? token : {}),
    );
    const user = {
      ...{ token: "t", as: "viewer@example.com", "as-uid": "7", "as-groups": ["readers", "guests"] },
      "as-user-extra": { "example.com/scopes": ["read"] },
    };
    const kubeconfig = { ...JSON.parse(api.kubeconfig()), users: [{ name: "u", user }] };
    addFiles(root, { acting: kubeconfig });
    try {
      for (const source of [path.join(root, "acting"), JSON.stringify(kubeconfig)]) {
        const connection = await connectionFromKubeconfig(source);
        const account = connectionAs({ namespace: "argosy", name: "shop-runner" }, connection);
        for (const each of [connection, account]) {
          const client = new KubernetesClient(each);
          await client.read("/version");
          client.close();
        }
      }
      const acting = [
        ...["impersonate-user", "impersonate-uid", "impersonate-group"],
        "impersonate-extra-example.com%2fscopes",
      ];
      const seen = api.calls.map(({ method, headers }) => [
        ...[method, headers.authorization],
        ...acting.map((header) => headers[header]),
      ]);
      const whom = ["viewer@example.com", "7", "readers, guests", "read"];
      const unimpersonated = whom.map(() => undefined);
      const once = [
        ["GET", "Bearer t", ...whom],
        ["POST", "Bearer t", ...whom],
        ["GET", "Bearer account", ...unimpersonated],
      ];
      assert.deepEqual(seen, [...once, ...once]);
    } finally {
      await api.stop();
    }
  });

  it("is used although it is no strict YAML, as client-node reads it", async () => {
    const { users: _, ...others } = KUBECONFIG;
    const text = `${stringify(others)}users:\n- name: u\n  user: {\n  token: t\n}\n`;
    addFiles(root, { lax: text });
    assert.equal(await (await connectionFromKubeconfig(path.join(root, "lax"))).token?.(), "t");
  });

  it("is refused where kubectl uses a proxy or no TLS, and the remedy is not to start the cluster", async () => {
    const clusterOf = (cluster: object) =>
      JSON.stringify({ ...KUBECONFIG, clusters: [{ name: "c", cluster }] });
    const server = "https://one.example.com:6443";
    const proxied = clusterOf({ server, "proxy-url": "http://user:secret@proxy.example.com:3128" });
    for (const [kubeconfig, start] of [
      [proxied, 'the cluster "c" of the kubeconfig has a proxy-url, and Argosy does not use proxies. '],
      [
        clusterOf({ server: "http://localhost:8001" }),
        'the cluster "c" of the kubeconfig has the server http://',
      ],
    ] as const) {
      const { name, message } = await errorOf(Error, () => openUsersCluster({ kubeconfig }));
      assert.equal(name, "KubeconfigError");
      assert.ok(message.startsWith(start), message);
      assert.doesNotMatch(message, /secret|Start it/);
    }
  });

  it("is refused with the reason and a remedy, in words that are no program's own", async () => {
    const reasons: Record<string, RegExp> = {
      empty: /it has no clusters/,
      broken: /in line 2/,
      missing: /no such file/,
      ".": /directory/,
    };
    for (const [name, reason] of Object.entries(reasons)) {
      const file = path.join(root, name);
      const { message } = await refusal(file);
      assert.ok(message.startsWith(`${file} is not a valid kubeconfig: `), message);
      assert.match(message, reason);
      assert.match(message, /\. Correct it, or name another one\.$/);
      assert.doesNotMatch(message, /undefined|E[A-Z]+:|\n/);
    }
  });

  it("is not there any more when argosy dev has ended, and says so", async () => {
    const putBack = rememberVariables("KUBECONFIG");
    process.env.KUBECONFIG = path.join(root, ".cache/argosy/dev/shop-0a1b2c3d.kubeconfig");
    try {
      const { message } = await refusal(undefined);
      assert.match(
        message,
        /no such file.*\. Correct it, or set KUBECONFIG to another one, or unset it\. It is there while argosy dev runs\.$/,
      );
    } finally {
      putBack();
    }
  });

  it("is refused with what its current context lacks", async () => {
    const { "current-context": _, contexts, ...others } = KUBECONFIG;
    const [first] = contexts;
    assert.ok(first);
    const lost = { ...first, context: { ...first.context, cluster: "gone" } };
    for (const [kubeconfig, reason] of [
      [others, /^the kubeconfig has no contexts\. Correct it, or name another one\.$/],
      [{ ...others, contexts }, /^the kubeconfig has no current context\. Name one of its contexts: \S+/],
      [
        { ...KUBECONFIG, "current-context": "gone" },
        /^the kubeconfig has no context "gone", which is its current context\. Name one of its contexts: /,
      ],
      [
        { ...KUBECONFIG, contexts: [lost], "current-context": first.name },
        /names the cluster "gone", which is not in it\. Correct it, or name another context\.$/,
      ],
    ] as const)
      assert.match((await refusal(JSON.stringify(kubeconfig))).message, reason);
  });

  it("is refused without a word of what is in it", async () => {
    const texts = [
      "users:\n  - token: SECRET\n   x: {",
      '{"users": [{"token": "SECRET"',
      "{users: [{token: *SECRET}]}",
      "{users: [{token: !SECRET x}]}",
    ];
    for (const source of texts) {
      assert.match(
        (await refusal(source)).message,
        /^the kubeconfig is not a valid kubeconfig: (?!.*SECRET)/s,
      );
    }
  });

  it("is refused without a word of it where it is neither a kubeconfig nor a path", async () => {
    const text = JSON.stringify(KUBECONFIG);
    for (const encoding of ["base64", "base64url", "hex"] as const) {
      const source = Buffer.from(text).toString(encoding);
      assert.equal(
        (await refusal(source)).message,
        "the kubeconfig is neither the text of a kubeconfig nor the path of a file. If it is in base64, decode it. " +
          "Correct it, or name another one.",
      );
    }
    assert.match(
      (await refusal(` ${text.slice(0, -1)}`)).message,
      /^the kubeconfig is not a valid kubeconfig: unexpected end /,
    );
  });

  it("is refused without a word of it where KUBECONFIG contains it", async () => {
    const putBack = rememberVariables("KUBECONFIG");
    process.env.KUBECONFIG = stringify(KUBECONFIG);
    try {
      const expected =
        "KUBECONFIG is not the path of a file. Correct it, or set KUBECONFIG to another one, or unset it.";
      assert.equal((await refusal()).message, expected);
    } finally {
      putBack();
    }
  });

  async function refusal(source?: string): Promise<Error> {
    const error = await connectionFromKubeconfig(source).then(
      () => undefined,
      (refused: unknown) => refused,
    );
    assert.ok(error instanceof KubeconfigError, source);
    return error;
  }

  it("is refused with what its login program said, or with the fact that this program said nothing", async () => {
    const login = (script: string) => ({
      apiVersion: "client.authentication.k8s.io/v1",
      command: "sh",
      args: ["-c", script],
    });
    const refusal = async (script: string) => {
      addFiles(root, { config: { ...KUBECONFIG, users: [{ name: "u", user: { exec: login(script) } }] } });
      return openUsersCluster({ kubeconfig: path.join(root, "config") }).then(
        () => assert.fail("it was opened"),
        ({ message }: Error) => message,
      );
    };
    const remedy = "Correct it, or name another one with --kubeconfig.";
    assert.equal(
      await refusal("echo the session has expired >&2; exit 1"),
      `the kubeconfig cannot be used: the session has expired. ${remedy}`,
    );
    assert.equal(
      await refusal("exit 1"),
      `the kubeconfig cannot be used: its login program failed. ${remedy}`,
    );
  });

  it("is refused where there is none at all, and says where it was looked for", async () => {
    const putBack = rememberVariables("HOME", "USERPROFILE", "KUBECONFIG");
    process.env.HOME = root;
    delete process.env.USERPROFILE;
    delete process.env.KUBECONFIG;
    try {
      const expected =
        /there is no kubeconfig: KUBECONFIG is not set, and ~\/\.kube\/config is missing\. Set KUBECONFIG/;
      await assert.rejects(connectionFromKubeconfig(undefined, "two"), expected);
      await assert.rejects(connectionFromKubeconfig(), expected);
    } finally {
      putBack();
    }
  });
});

describe("cli: the user's cluster", () => {
  const api = useApiServer();
  const open = () => openUsersCluster({ kubeconfig: api.kubeconfig() });

  it("is opened if it answers", async () => {
    api.answer = (_, response) => json(response, { major: "1" });
    assert.equal((await open()).isUsers, true);
  });

  for (const [what, code, message] of [
    [
      "does not recognize the user, with what to do",
      401,
      /does not recognize the user .*Log in to the cluster again/,
    ],
    ["is busy", 503, /does not answer: .*Start it, or name another cluster/],
  ] as const)
    it(`is not opened if it ${what}`, async () => {
      api.answer = (_, response) => refuse(response, code, { message: "no" });
      await assert.rejects(open(), message);
    });
});
