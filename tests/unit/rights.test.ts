import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { compareRights, type Right, rightsIn } from "../../cli/rights/rights";
import type { Manifest } from "../../runtime/base/objects";
import { widgetCrd, writeFolder } from "./operatorFolder";
import { runArgosy } from "./support/runArgosy";

const RBAC = "rbac.authorization.k8s.io/v1";
const role = (kind: string, name: string, rules: object[], namespace?: string): Manifest => ({
  apiVersion: RBAC,
  kind,
  metadata: { name, ...(namespace && { namespace }) },
  rules,
});
const binding = (kind: string, refKind: string, ref: string, namespace?: string): Manifest => ({
  apiVersion: RBAC,
  kind,
  metadata: { name: `${ref}-binding`, ...(namespace && { namespace }) },
  roleRef: { kind: refKind, name: ref },
  subjects: [{ kind: "ServiceAccount", name: "runner", namespace: "argosy" }],
});
const pods = (...verbs: string[]) => ({ apiGroups: [""], resources: ["pods"], verbs });
const RUNNER = { kind: "ServiceAccount", namespace: "argosy", name: "runner" };
const right = (namespace: string, resource: string, verbs: string[], names: string[] = []): Right => ({
  account: RUNNER,
  ...(namespace !== "" && { namespace }),
  resource,
  names,
  verbs,
});

describe("the rights in manifests", () => {
  it("are those of roles that are bound, where they are bound", () => {
    const manifests = [
      role("ClusterRole", "all", [pods("list"), { nonResourceURLs: ["/metrics"], verbs: ["get"] }]),
      role("ClusterRole", "unbound", [pods("delete")]),
      role("Role", "all", [pods("create")], "team-a"),
      role("Role", "all", [pods("patch")], "team-b"),
      binding("ClusterRoleBinding", "ClusterRole", "all"),
      binding("RoleBinding", "ClusterRole", "all", "team-b"),
      binding("RoleBinding", "Role", "all", "team-a"),
    ];
    assert.deepEqual(rightsIn(manifests), [
      right("", "/metrics", ["get"]),
      right("", "pods", ["list"]),
      right("team-a", "pods", ["create"]),
      right("team-b", "/metrics", ["get"]),
      right("team-b", "pods", ["list"]),
    ]);
    assert.deepEqual(rightsIn([...manifests].reverse()), rightsIn(manifests));
  });

  it("are one where several rules are about the same, and another with names", () => {
    const rules = [
      pods("list", "get"),
      pods("get", "watch"),
      { apiGroups: ["apps"], resources: ["deployments"], resourceNames: ["b", "a"], verbs: ["get"] },
    ];
    assert.deepEqual(
      rightsIn([role("ClusterRole", "r", rules), binding("ClusterRoleBinding", "ClusterRole", "r")]),
      [right("", "apps/deployments", ["get"], ["a", "b"]), right("", "pods", ["get", "list", "watch"])],
    );
  });

  it("are compared verb by verb", () => {
    const before = [right("", "pods", ["get", "list"]), right("a", "secrets", ["get"])];
    const after = [right("", "pods", ["delete", "get"]), right("b", "secrets", ["get"])];
    assert.deepEqual(compareRights(before, after), {
      gained: [right("", "pods", ["delete"]), right("b", "secrets", ["get"])],
      lost: [right("", "pods", ["list"]), right("a", "secrets", ["get"])],
    });
    assert.deepEqual(compareRights(after, after), { gained: [], lost: [] });
  });
});

describe("argosy rights", function () {
  this.timeout(120_000);
  const ROOT = path.resolve(__dirname, "../..");
  const OPERATOR = "crd: crd.yaml\nhandler: main.js\nchildren: [v1/Service]\nnamespaces: [team]\n";
  let folder: string;
  const git = (...args: string[]) =>
    execFileSync("git", ["-C", folder, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
      stdio: "pipe",
    });

  before(() => {
    folder = writeFolder({
      ".gitignore": "node_modules\n",
      "Pulumi.yaml": "name: shop\nruntime: nodejs\n",
      "Pulumi.dev.yaml": "config: {}\n",
      "index.ts": `import { Operators } from "${path.join(ROOT, "components/index.ts")}";\nnew Operators("ops", { handlers: "./handlers" });\n`,
      "handlers/widget/crd.yaml": widgetCrd(),
      "handlers/widget/main.js": "exports.reconcile = () => ({ children: [] });\n",
      "handlers/widget/operator.yaml": OPERATOR,
    });
    symlinkSync(path.join(ROOT, "node_modules"), path.join(folder, "node_modules"));
    git("init", "--quiet");
    git("add", "--all");
    git("commit", "--quiet", "--message", "one");
  });
  const argosy = (...args: string[]) => runArgosy("rights", ...args, "--project", folder);

  it("lists those of an operator's accounts, and refuses a name that no operator has", async () => {
    const { result, stdout, stderr: problems } = await argosy("widget");
    assert.equal(result, 0, problems);
    assert.match(stdout, /^ServiceAccount argosy\/widget-runner$/m);
    assert.match(stdout, /^ {2}in team +services +create, delete/m);
    assert.doesNotMatch(stdout, /argo-server/);
    const { rights } = JSON.parse((await argosy("widget", "--json")).stdout) as { rights: Right[] };
    assert.deepEqual(
      rights.find(({ resource, namespace }) => resource === "services" && namespace === "team"),
      {
        account: { kind: "ServiceAccount", namespace: "argosy", name: "widget-runner" },
        namespace: "team",
        resource: "services",
        names: [],
        verbs: ["create", "delete", "get", "list", "patch", "watch"],
      },
    );
    const { result: wrong, stderr } = await argosy("missing");
    assert.deepEqual(
      [wrong, stderr],
      [2, "The program has no operator missing. argosy rights shows every account.\n"],
    );
  });

  it("says what a change adds, with exit code 3, and that nothing has changed, with 0", async () => {
    const same = await argosy("--against", "HEAD");
    assert.deepEqual([same.result, same.stdout], [0, "No account gains or loses a right since HEAD.\n"]);
    const file = path.join(folder, "handlers/widget/operator.yaml");
    writeFileSync(file, readFileSync(file, "utf8").replace("v1/Service", "v1/Secret"));
    const { result, stdout } = await argosy("widget", "--against", "HEAD");
    assert.equal(result, 3);
    assert.match(
      stdout,
      /^gained\n[\s\S]*^ {2}\+ in team +secrets +[\s\S]*^lost\n[\s\S]*^ {2}- in team +services/m,
    );
    assert.deepEqual(Object.keys(JSON.parse((await argosy("--against", "HEAD", "--json")).stdout)), [
      "gained",
      "lost",
    ]);
  });
});
