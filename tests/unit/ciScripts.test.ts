import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { IMAGES, imageOf } from "../../components/manifests/images";
import { FUNCTION_IMAGES } from "../../runtime/program";
import { removeFolder, writeFolder } from "./operatorFolder";
import { assertEach } from "./support/lists";
import { titleOf } from "./support/titles";

const ROOT = path.resolve(__dirname, "../..");
const COMMIT = "0123456789abcdef0123456789abcdef01234567";

interface Workflow {
  readonly jobs: Readonly<
    Record<string, { readonly uses?: string; readonly steps?: readonly { readonly run?: string }[] }>
  >;
}

/** The workflow of a release. */
function workflow(): Workflow {
  return parse(readFileSync(path.join(ROOT, ".github/workflows/release.yml"), "utf8")) as Workflow;
}

describe("the scripts of CI", () => {
  let folder: string;

  /** Runs a script of the repository, with nothing of this process's environment but PATH. */
  function run(
    script: string,
    args: string[],
    { input = "", env = {} }: { input?: string; env?: NodeJS.ProcessEnv },
  ) {
    const [command, ...rest] = script.endsWith(".mjs")
      ? [process.execPath, script, ...args]
      : [script, ...args];
    const { status, stdout, stderr } = spawnSync(command ?? "", rest, {
      cwd: ROOT,
      input,
      env: { PATH: process.env["PATH"], ...env },
      encoding: "utf8",
    });
    return { status, stdout, stderr };
  }

  /** A folder with these files, of which those in bin/ are programs. The PATH that begins with these. */
  function withPrograms(files: Parameters<typeof writeFolder>[0]): string {
    folder = writeFolder(files);
    for (const file of Object.keys(files).filter((each) => each.startsWith("bin/")))
      chmodSync(path.join(folder, file), 0o755);
    return `${path.join(folder, "bin")}:${process.env["PATH"]}`;
  }

  describe(".ci/deployedCommit.mjs", () => {
    before(() => {
      folder = writeFolder({});
    });
    const deployed = (...history: object[]) =>
      run(".ci/deployedCommit.mjs", [], { input: JSON.stringify(history) });
    const update = {
      startTime: "2026-11-22T05:17:00Z",
      kind: "update",
      result: "succeeded",
      environment: { "git.head": COMMIT },
    };

    it("names the commit of the last update, also of one that failed", () => {
      const refresh = { kind: "refresh", result: "succeeded", environment: { "git.head": "x" } };
      const older = { ...update, environment: { "git.head": "f".repeat(40) } };
      assert.deepEqual(deployed(refresh, update, older), { status: 0, stdout: `${COMMIT}\n`, stderr: "" });
      assert.equal(deployed({ ...update, result: "failed" }, older).stdout, `${COMMIT}\n`);
    });

    it("names none where nothing is deployed: never, or no longer", () => {
      assert.deepEqual(deployed(), { status: 0, stdout: "", stderr: "" });
      const destroy = { kind: "destroy", result: "succeeded", environment: {} };
      assert.equal(deployed(destroy, update).stdout, "");
    });

    it("says so if the update came from no commit, or included uncommitted changes", () => {
      const { status, stdout, stderr } = deployed({ ...update, environment: {} });
      assert.deepEqual([status, stdout], [1, ""]);
      assert.match(
        stderr,
        /The update of 2026-11-22T05:17:00Z does not say which commit it came from\. Deploy the stack from a clone/,
      );
      const dirty = { ...update, environment: { "git.head": COMMIT, "git.dirty": "true" } };
      assert.match(deployed(dirty).stderr, /had changes that were not committed/);
      assert.equal(deployed(dirty).stdout, `${COMMIT}\n`);
    });
  });

  describe("the login of Pulumi", () => {
    function login(variables: NodeJS.ProcessEnv) {
      folder = writeFolder({ environment: "", output: "" });
      const env = {
        STACK: "dev",
        ORGANIZATION: "",
        STORED_TOKEN: "",
        BACKEND_URL: "",
        BACKEND_CREDENTIALS: "",
        PASSPHRASE: "",
        CLUSTER: "",
        RUNNER_TEMP: folder,
        GITHUB_ENV: path.join(folder, "environment"),
        GITHUB_OUTPUT: path.join(folder, "output"),
        ...variables,
      };
      const { status, stdout } = run(".github/actions/pulumi/login.sh", [], { env });
      return { status, log: stdout, output: read("output"), environment: given(read("environment")) };
    }
    const read = (name: string) => readFileSync(path.join(folder, name), "utf8");
    /** As GitHub reads the file of variables. */
    function given(text: string): Record<string, string> {
      const several = [...text.matchAll(/^(\w+)<<(.+)\n([\s\S]*?)\n\2$/gm)];
      const single = [...text.replaceAll(/^(\w+)<<(.+)\n[\s\S]*?\n\2$/gm, "").matchAll(/^(\w+)=(.*)$/gm)];
      return Object.fromEntries([
        ...several.map(([, name, , value]) => [name, value]),
        ...single.map(([, name, value]) => [name, value]),
      ]);
    }

    it("takes a stored token, for an account without OIDC, and shows it nowhere", () => {
      const { output, environment, log } = login({ ORGANIZATION: "jane", STORED_TOKEN: "pul-1" });
      assert.equal(output, "stack=jane/dev\n");
      assert.equal(environment["PULUMI_ACCESS_TOKEN"], "pul-1");
      assert.equal(log, "::add-mask::pul-1\n");
    });

    it("takes a self-managed backend with its credentials and passphrase", () => {
      const { status, output, environment, log } = login({
        BACKEND_URL: "s3://state?region=eu-central-1",
        BACKEND_CREDENTIALS: "AWS_ACCESS_KEY_ID=id\n\nAWS_SECRET_ACCESS_KEY=a=b/c+$(date)\n",
        PASSPHRASE: "four words",
      });
      assert.deepEqual([status, output], [0, "stack=dev\n"]);
      assert.deepEqual(environment, {
        AWS_ACCESS_KEY_ID: "id",
        AWS_SECRET_ACCESS_KEY: "a=b/c+$(date)",
        PULUMI_CONFIG_PASSPHRASE: "four words",
        PULUMI_BACKEND_URL: "s3://state?region=eu-central-1",
        KUBECONFIG: path.join(folder, "kubeconfig"),
      });
      for (const secret of ["id", "a=b/c+$(date)", "four words"])
        assert.ok(log.split("\n").includes(`::add-mask::${secret}`), secret);
    });

    it("refuses credentials that are no variables, without showing them", () => {
      const { status, log } = login({ BACKEND_URL: "s3://state", BACKEND_CREDENTIALS: "s3cret" });
      assert.equal(status, 1);
      assert.match(log, /^::error::The secret BACKEND_CREDENTIALS has a line that is not NAME=value/);
      assert.doesNotMatch(log, /s3cret/);
    });

    it("keeps the kubeconfig from other users", () => {
      login({ ORGANIZATION: "acme", CLUSTER: "apiVersion: v1\n" });
      assert.equal(read("kubeconfig"), "apiVersion: v1\n");
      const { stdout } = run("/usr/bin/stat", ["--format=%a", path.join(folder, "kubeconfig")], {});
      assert.equal(stdout, "600\n");
    });
  });

  describe(".ci/verdict", () => {
    /** The verdict where the command says this and ends with this exit code. */
    function verdict(exitCode: number, allowed: string) {
      const PATH = withPrograms({
        "bin/npm": `#!/bin/sh\necho the verdict\necho "asked for: $*" >&2\nexit ${exitCode}\n`,
      });
      const file = path.join(folder, "verdict.md");
      const summary = path.join(folder, "summary.md");
      const env = {
        PATH,
        ALLOWED: allowed,
        GITHUB_STEP_SUMMARY: summary,
      };
      const { status } = run(".ci/verdict", ["HEAD^1", file], { env });
      const text = existsSync(file) ? readFileSync(file, "utf8") : "";
      assert.equal(readFileSync(summary, "utf8"), text);
      return { status, text };
    }

    it("is a comment that can be found again, with what the command says", () => {
      const { status, text } = verdict(0, "false");
      assert.equal(status, 0);
      assert.match(text, /^<!-- argosy: verdict -->\n/);
      assert.match(
        text,
        /\n~~~~~~text\nthe verdict\nasked for: run --silent verdict -- HEAD\^1\n~~~~~~\nNothing breaks/,
      );
    });

    it("fails where something breaks, until the label allows it", () => {
      const refused = verdict(3, "false");
      assert.equal(refused.status, 1);
      assert.match(refused.text, /a maintainer adds the label `allow-breaking-crd`/);
      removeFolder(folder);
      const allowed = verdict(3, "true");
      assert.equal(allowed.status, 0);
      assert.match(allowed.text, /The label `allow-breaking-crd` allows it/);
    });

    it("fails where there is no verdict, whatever the label says", () => {
      const { status, text } = verdict(2, "true");
      assert.equal(status, 1);
      assert.match(text, /could not be found \(exit code 2\)/);
    });
  });

  describe(".ci/diff", () => {
    /** The comment where the command says this and ends with this exit code. */
    function diff(exitCode: number, kubeconfig: string, isJob = false) {
      const PATH = withPrograms({
        "bin/npm": `#!/bin/sh\necho "asked for: $*"\nexit ${exitCode}\n`,
        kubeconfig,
      });
      const file = path.join(folder, "diff.md");
      const env = {
        PATH,
        KUBECONFIG: path.join(folder, "kubeconfig"),
        ...(isJob && { GITHUB_STEP_SUMMARY: path.join(folder, "summary") }),
      };
      const { status, stdout } = run(".ci/diff", [file], { env });
      return { status, stdout, text: readFileSync(file, "utf8") };
    }

    it("is not in the log of a job, where GitHub would take words of an object's author for commands", () => {
      const { stdout, text } = diff(3, "a cluster", true);
      assert.deepEqual([stdout, readFileSync(path.join(folder, "summary"), "utf8")], ["", text]);
    });

    it("is a comment that can be found again, and no failure where something changes", () => {
      const { status, stdout, text } = diff(3, "a cluster");
      assert.deepEqual([status, stdout], [0, text]);
      assert.match(text, /^<!-- argosy: diff -->\n/);
      assert.match(
        text,
        /\n~~~~~~text\nasked for: run --silent argosy -- diff --details\n~~~~~~\nThe handlers/,
      );
    });

    it("fails where a handler does", () => {
      const { status, text } = diff(1, "a cluster");
      assert.equal(status, 1);
      assert.match(text, /for all of them \(exit code 1\)/);
    });

    it("says that the cluster was not checked if there is no kubeconfig", () => {
      const { status, text } = diff(1, "");
      assert.equal(status, 0);
      assert.doesNotMatch(text, /asked for/);
      assert.match(text, /There is no kubeconfig/);
    });
  });

  describe(".ci/release.mjs", () => {
    const NOTES =
      "# Changelog\n\n## 1.2.3 (2026-11-30)\n\n- New: all of it.\n\n## 1.2.2 (2026-11-01)\n\n- Old.\n";
    const NAMING = {
      "package.json": '{ "name": "@a/b",\n"version": "1.2.3" }',
      "plugin/package.json": '{ "version": "1.2.3",\n"dependencies": { "@a/b": "1.2.3" } }',
      "plugin/schema.json": '{ "version": "1.2.3" }',
      "plugin/README.md": "pulumi package add argosy@1.2.3 --server\n",
      "templates/typescript/package.json": '{ "name": "shop",\n"dependencies": { "@a/b": "1.2.3" } }',
      "templates/python/Pulumi.yaml": "packages:\n  version: 1.2.3\n",
      "templates/yaml/Pulumi.yaml": "packages:\n  version: 1.2.3\n",
    };
    function release(tag: string, more: Record<string, string> = {}) {
      folder = writeFolder({ ...NAMING, "CHANGELOG.md": NOTES });
      for (const [file, text] of Object.entries(more)) writeFileSync(path.join(folder, file), text);
      return run(".ci/release.mjs", [tag, folder], {});
    }

    it("prints what the changelog says of the release", () => {
      assert.deepEqual(release("v1.2.3"), { status: 0, stdout: "- New: all of it.\n", stderr: "" });
    });

    for (const [tag, more, message] of [
      ["1.2.3", {}, /"1\.2\.3" is no release\. Give a tag such as v1\.2\.3/],
      ["v1.2.4", {}, /^package\.json:2 names 1\.2\.3, not 1\.2\.4\.\nplugin\/package\.json:1 names/],
      ["v1.2.3", { "plugin/README.md": "" }, /^plugin\/README\.md names no version\.\n$/],
      ["v1.2.3", { "CHANGELOG.md": "## 1.2.30 (2026-11-30)\n" }, /has no section "## 1\.2\.3 \(YYYY/],
      ["v1.2.3", { "CHANGELOG.md": "## 1.2.3 (unreleased)\n" }, /"## 1\.2\.3 \(unreleased\)" has no date/],
    ] as const) {
      it(`refuses a release: ${titleOf(message)}`, () => {
        const { status, stdout, stderr } = release(tag, more);
        assert.deepEqual([status, stdout], [1, ""]);
        assert.match(stderr, message);
      });
    }

    for (const [file, text] of Object.entries(NAMING)) {
      it(`refuses another version in ${file}`, () => {
        const { status, stderr } = release("v1.2.3", {
          [file]: text.replace("1.2.3", "1.2.2"),
        });
        assert.equal(status, 1);
        assert.match(stderr, new RegExp(`^${file}:\\d names 1\\.2\\.2, not 1\\.2\\.3\\.\\n$`));
      });
    }

    describe("rehearsed by .ci/rehearse.mjs", () => {
      /** Of a repository with today's workflow, whose packing makes these files. */
      function rehearse(packed: string, tag = "v1.2.3") {
        const pack = `#!/bin/sh
mkdir -p "$1" package && echo '{ "name": "@a/b", "version": "1.2.3" }' > package/package.json
for file in ${packed}; do tar -czf "$1/$file" package; done
`;
        const PATH = withPrograms({
          "bin/npm": `#!/bin/sh
case "$1 $*" in publish*--dry-run*) echo "npm $*" ;; publish*) echo published ;; view*) exit 1 ;; esac
`,
          ...Object.fromEntries(Object.entries(NAMING).map(([file, text]) => [`repository/${file}`, text])),
          "repository/CHANGELOG.md": NOTES.replace("2026-11-30", "unreleased"),
          "repository/.ci/pack": pack,
        });
        const repository = path.join(folder, "repository");
        mkdirSync(path.join(repository, ".github/workflows"), { recursive: true });
        for (const file of [".ci/release.mjs", ".github/workflows/release.yml"])
          copyFileSync(path.join(ROOT, file), path.join(repository, file));
        chmodSync(path.join(repository, ".ci/pack"), 0o755);
        for (const args of [
          ["init", "--quiet"],
          ["add", "."],
          ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "all"],
        ])
          spawnSync("git", ["-C", repository, ...args]);
        return run(".ci/rehearse.mjs", [tag, repository], { env: { PATH, TMPDIR: folder } });
      }
      const ALL = "package.tgz plugin.tgz plugin.tar.gz package.cdx.json";

      it("goes through all of the workflow, and publishes nothing", () => {
        const { status, stdout, stderr } = rehearse(ALL);
        assert.deepEqual([status, stderr], [0, ""]);
        const { jobs } = workflow();
        for (const [name, { uses }] of Object.entries(jobs))
          assert.ok(stdout.includes(uses ? `== ${name}: not run here, see ${uses}\n` : `== ${name}\n`), name);
        assert.doesNotMatch(stdout, /^published/m);
        assert.match(stdout, /^npm publish \.\/packed\/package\.tgz .*--tag latest --dry-run/m);
        assert.match(
          stdout,
          /^not sent: gh release upload .*packed\/package\.cdx\.json .*packed\/SHA256SUMS$/m,
        );
        assert.match(stdout, /^CHANGELOG\.md has no date for v1\.2\.3: the clone has 20\d\d-\d\d-\d\d\.$/m);
        const git = ["-C", path.join(folder, "repository"), "status", "--porcelain"];
        assert.equal(spawnSync("git", git, { encoding: "utf8" }).stdout, "");
      });

      it("fails where the release would: for a file that is not packed, and another version", () => {
        const unpacked = rehearse("package.tgz plugin.tgz package.cdx.json");
        assert.equal(unpacked.status, 1);
        assert.match(unpacked.stderr, /The job release fails\.\n$/);
        removeFolder(folder);
        const other = rehearse(ALL, "v1.2.4");
        assert.equal(other.status, 1);
        assert.match(other.stderr, /names 1\.2\.3, not 1\.2\.4\.\n[\s\S]*The job check fails\.\n$/);
      });
    });
  });

  describe(".ci/images.mjs", () => {
    const ALL = [["linux", "amd64"] as const, ["linux", "arm64"] as const];
    /** Of a registry that has each image for these platforms. */
    function resolved(platforms: readonly (readonly [os: string, architecture: string])[]) {
      const manifests = platforms.map(([os, architecture]) => ({ platform: { os, architecture } }));
      const PATH = withPrograms({
        "bin/crane": `#!/bin/sh
[ "$1" = manifest ] && printf '{"of":"%s","manifests":%s}' "$2" '${JSON.stringify(manifests)}'
`,
      });
      return run(".ci/images.mjs", [path.join(folder, "named")], { env: { PATH, HOME: folder } });
    }
    const read = (name: string) => readFileSync(path.join(folder, "named", name), "utf8");

    it("gives every image that Argosy names its digest, as a program takes it and as a mirror does", () => {
      assert.equal(resolved(ALL).stderr, "");
      const images = JSON.parse(read("images.json")) as Record<string, string>;
      assert.deepEqual(Object.keys(images), [...Object.keys(IMAGES), ...Object.keys(FUNCTION_IMAGES)]);
      assert.equal(new Set(Object.values(images)).size, new Set(read("images.txt").trim().split("\n")).size);
      for (const [name, image] of Object.entries(IMAGES)) {
        const reference = imageOf(name as keyof typeof IMAGES, { images, placement: {} });
        assert.ok(reference.startsWith(`${image.repository}:${image.tag}@sha256:`));
        assert.ok(read("images.txt").includes(`${reference}\n`), reference);
      }
    });

    it("refuses an image that is missing for one of the platforms", () => {
      const { status, stderr } = resolved(ALL.slice(0, 1));
      assert.equal(status, 1);
      assert.equal(stderr, "quay.io/argoproj/argo-events:v1.9.11 is not there for linux/arm64.\n");
      assert.ok(!existsSync(path.join(folder, "named")));
    });
  });

  describe(".ci/scan", () => {
    function scanned(bad: string) {
      const PATH = withPrograms({
        "bin/trivy": `#!/bin/sh\necho "$@"\ncase "$*" in *${bad}) exit 1 ;; esac\n`,
        "images.txt": "a/b:1@sha256:1\na/c:1@sha256:2\n",
        "engine.cdx.json": "{}",
        "package.cdx.json": "{}",
      });
      const { status, stdout } = run(".ci/scan", [folder], { env: { PATH } });
      return { status, commands: stdout.split("\n").filter((line) => /^(image|sbom) /.test(line)) };
    }

    it("looks at every image by its digest and at every bill of materials, with the published exceptions", () => {
      const { status, commands } = scanned("none");
      assert.equal(status, 0);
      assertEach(
        commands,
        (line) => [line.split(" ")[0], line.split(" ").at(-1)?.replace(`${folder}/`, "")],
        [
          ["image", "a/b:1@sha256:1"],
          ["image", "a/c:1@sha256:2"],
          ["sbom", "engine.cdx.json"],
          ["sbom", "package.cdx.json"],
        ],
      );
      for (const line of commands) assert.match(line, /--ignorefile \S*\.trivyignore\.yaml .*--exit-code 1 /);
    });

    for (const bad of ["sha256:1", "sha256:2", "engine.cdx.json"]) {
      it(`fails for a hole in ${bad}, after it has looked at the others`, () => {
        const { status, commands } = scanned(bad);
        assert.deepEqual([status, commands.length], [1, 4]);
      });
    }

    it("has exceptions that give a reason and end by themselves", () => {
      const text = readFileSync(path.join(ROOT, ".trivyignore.yaml"), "utf8");
      const example = text.replace(/^#( {3}.*)$/gm, "$1").replace("vulnerabilities: []", "");
      for (const { vulnerabilities } of [parse(text), parse(`vulnerabilities:\n${example}`)]) {
        for (const { id, statement, expired_at: end } of vulnerabilities) {
          assert.match(id, /^(CVE|GHSA)-[\w-]+$/);
          assert.match(statement ?? "", /.{20}/, id);
          assert.match(end ?? "", /^20\d\d-\d\d-\d\d$/, id);
        }
      }
    });
  });

  describe("what is published", () => {
    it("is the rest of it, if a run was interrupted", () => {
      const { publish } = workflow().jobs;
      const script = publish?.steps?.at(-1)?.run ?? "";
      const PATH = withPrograms({
        "a/package/package.json": '{ "name": "@a/b", "version": "1.2.3" }',
        "b/package/package.json": '{ "name": "@a/plugin", "version": "1.2.3" }',
        published: "",
        "packed/notes.md": "",
        // As npm: a version that there is not is an error, and one that there is cannot be published again.
        "bin/npm": `#!/bin/sh
if [ "$1" = view ]; then grep -x "$2" published || { echo E404 >&2; exit 1; }; exit; fi
case "$2:$BROKEN" in *package.tgz:*) echo @a/b@1.2.3 ;; *:yes) exit 1 ;; *) echo @a/plugin@1.2.3 ;; esac >> published
`,
      });
      for (const [name, file] of [
        ["a", "package"],
        ["b", "plugin"],
      ] as const)
        spawnSync("tar", [
          "-czf",
          path.join(folder, `packed/${file}.tgz`),
          "-C",
          path.join(folder, name),
          "package",
        ]);
      const published = (broken: string) => {
        const { status } = spawnSync("bash", ["-e", "-c", script], {
          cwd: folder,
          env: {
            ...{ PATH, GITHUB_REF_NAME: "v1.2.3", BROKEN: broken },
          },
        });
        return { status, lines: readFileSync(path.join(folder, "published"), "utf8") };
      };
      assert.deepEqual(published("yes"), { status: 1, lines: "@a/b@1.2.3\n" });
      assert.deepEqual(published("no"), { status: 0, lines: "@a/b@1.2.3\n@a/plugin@1.2.3\n" });
    });
  });

  describe(".ci/newer", () => {
    /** Whether the first commit may be deployed if the stack's last update came from this one. */
    function mayDeploy(deployed: (commits: { first: string; second: string }) => string) {
      folder = writeFolder({ "clone/.ci/x": "" });
      const clone = path.join(folder, "clone");
      const git = (...args: string[]) =>
        spawnSync("git", ["-C", clone, "-c", "user.name=a", "-c", "user.email=a@b", ...args], {
          encoding: "utf8",
        }).stdout.trim();
      for (const file of ["newer", "deployedCommit.mjs"])
        copyFileSync(path.join(ROOT, ".ci", file), path.join(clone, ".ci", file));
      git("init", "--quiet");
      git("commit", "--quiet", "--allow-empty", "--message", "first");
      const first = git("rev-parse", "HEAD");
      git("commit", "--quiet", "--allow-empty", "--message", "second");
      const second = git("rev-parse", "HEAD");
      git("checkout", "--quiet", first);
      const history = [{ kind: "update", environment: { "git.head": deployed({ first, second }) } }];
      mkdirSync(path.join(folder, "bin"));
      writeFileSync(path.join(folder, "bin/pulumi"), `#!/bin/sh\necho '${JSON.stringify(history)}'\n`, {
        mode: 0o755,
      });
      const PATH = `${path.join(folder, "bin")}:${process.env["PATH"]}`;
      return run(path.join(clone, ".ci/newer"), ["acme/dev"], { env: { PATH } });
    }

    it("refuses a commit that is older than what is deployed", () => {
      const { status, stdout } = mayDeploy(({ second }) => second);
      assert.equal(status, 1);
      assert.match(stdout, /^::error::acme\/dev is deployed from [0-9a-f]{40}, which is newer\./);
    });

    it("lets the same commit be deployed, and one after an update of no known commit", () => {
      for (const deployed of [({ first }: { first: string }) => first, () => COMMIT, () => "none"]) {
        assert.equal(mayDeploy(deployed).status, 0);
        removeFolder(folder);
      }
    });
  });
});
