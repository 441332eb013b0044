import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";
import { kubernetesVersion } from "../../cli/controlPlane/versions";
import { IMAGES } from "../../components/manifests/images";
import { assertEach } from "./support/lists";

const ROOT = path.resolve(__dirname, "../..");
const LOCAL = /^\.\//;
const SAME_REPOSITORY = "github.event.pull_request.head.repo.full_name == github.repository";
/** Anyone who has set neither has not set Pulumi up. */
const IS_SET_UP = /^\(?vars\.PULUMI_ORGANIZATION != '' \|\| vars\.PULUMI_BACKEND_URL != ''(\) && |$)/;

interface Step {
  readonly id?: string;
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly shell?: string;
}

interface Job {
  readonly uses?: string;
  readonly if?: string;
  readonly needs?: string | readonly string[];
  readonly secrets?: unknown;
  readonly steps?: readonly Step[];
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
  readonly strategy?: { readonly matrix?: Readonly<Record<string, readonly string[]>> };
}

interface Workflow {
  readonly on: Readonly<Record<string, unknown>>;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly required: boolean }>>;
  readonly runs: { readonly using: string; readonly steps: readonly Step[] };
}

/** What each job may write, and for what. Every other may only read the repository. */
const MAY_WRITE: Readonly<Record<string, readonly string[]>> = {
  // The comments.
  "comment.yml comment": ["pull-requests"],
  "manifests.yml comment": ["pull-requests"],
  "preview.yml preview-comment": ["pull-requests"],
  "preview.yml diff-comment": ["pull-requests"],
  // A token of Pulumi Cloud.
  "preview.yml preview": ["id-token"],
  "drift.yml drift": ["id-token"],
  "up.yml dev": ["id-token"],
  "up.yml prod": ["id-token"],
  // The identity of what is judged.
  "scorecard.yml scorecard": ["id-token"],
  // npm's trust, and the provenance.
  "release.yml publish": ["id-token"],
  "release.yml release": ["contents"],
};

const workflows = new Map(
  readdirSync(path.join(ROOT, ".github/workflows")).map((file) => [
    file,
    read(`.github/workflows/${file}`) as Workflow,
  ]),
);
const actions = new Map(
  readdirSync(path.join(ROOT, ".github/actions")).map((folder) => [
    `./.github/actions/${folder}`,
    read(`.github/actions/${folder}/action.yml`) as Action,
  ]),
);
const jobs = [...workflows].flatMap(([file, { jobs }]) =>
  Object.entries(jobs).map(([name, job]) => ({ file, name: `${file} ${name}`, job })),
);
const stepLists = [
  ...jobs.map(({ name, job }) => ({ name, steps: job.steps ?? [] })),
  ...[...actions].map(([name, { runs }]) => ({ name, steps: runs.steps })),
];
const steps = stepLists.flatMap(({ name, steps }) => steps.map((step) => ({ name, step })));

function read(file: string): unknown {
  return parse(readFileSync(path.join(ROOT, file), "utf8"));
}

describe("GitHub's workflows", () => {
  it("are all known to this test", () => {
    assert.deepEqual([...workflows.keys()].sort(), [
      "comment.yml",
      "drift.yml",
      "e2e.yml",
      "manifests.yml",
      "preview.yml",
      "release.yml",
      "scorecard.yml",
      "supply-chain.yml",
      "test.yml",
      "up.yml",
      "versions.yml",
    ]);
    assert.ok(steps.length > 15);
  });

  it("never run a pull request's code with the repository's own rights", () => {
    for (const [file, { on }] of workflows) {
      const privileged = ["pull_request_target", "workflow_run", "issue_comment"].filter(
        (event) => event in on,
      );
      assert.deepEqual(privileged, [], file);
    }
  });

  it("declare their permissions, and may write only where they have to", () => {
    for (const [file, { permissions }] of workflows)
      assert.deepEqual(permissions, { contents: "read" }, file);
    const writing = jobs.flatMap(({ name, job }) => {
      const rights = Object.entries(job.permissions ?? {}).filter(([, right]) => right !== "read");
      return rights.length > 0 ? [[name, rights.map(([right]) => right).sort()]] : [];
    });
    assert.deepEqual(Object.fromEntries(writing), MAY_WRITE);
    // Code of a pull request could write with the token of a later step of its job.
    for (const { name, job } of jobs.filter(({ name }) => MAY_WRITE[name]?.some((it) => it !== "id-token")))
      assert.doesNotMatch(JSON.stringify(job), /actions\/checkout|npm (ci|install|run|test)|\.ci\//, name);
  });

  it("give a called workflow what its jobs need", () => {
    for (const { name, job } of jobs.filter(({ job }) => job.uses)) {
      const called = workflows.get(path.basename(job.uses ?? ""));
      assert.ok(called && "workflow_call" in called.on, name);
      for (const inner of Object.values(called.jobs)) {
        assert.deepEqual(job.permissions, inner.permissions, name);
        // A called job never has its caller's secrets.
        assert.doesNotMatch(JSON.stringify([job, inner]), /\bsecrets\b/, name);
      }
    }
  });

  it("pin every action by its commit, with the version in a comment, or use one of ours", () => {
    const lines = [...workflows.keys()].map((file) => `.github/workflows/${file}`);
    const files = [...lines, ...[...actions.keys()].map((folder) => `${folder}/action.yml`)];
    // What `argosy init` gives to others.
    const given = ["templates/typescript/.github/workflows/operators.yml"];
    const givenSteps = given.flatMap((file) =>
      Object.values((read(file) as Workflow).jobs).flatMap(({ steps = [] }) => steps),
    );
    const versions = new Map<string, Set<string>>();
    let count = 0;
    for (const file of [...files, ...given]) {
      const text = readFileSync(path.join(ROOT, file), "utf8");
      for (const [, uses = ""] of text.matchAll(/^\s*(?:- )?uses: (.*)$/gm)) {
        count += 1;
        if (LOCAL.test(uses)) {
          assert.ok(actions.has(uses) || workflows.has(path.basename(uses)), `${file}: ${uses}`);
          continue;
        }
        const [, action = ""] = /^([\w-]+\/[\w-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+$/.exec(uses) ?? [];
        assert.ok(action, `${file}: ${uses}`);
        versions.set(action, (versions.get(action) ?? new Set()).add(uses));
      }
    }
    assert.equal(
      count,
      steps.filter(({ step }) => step.uses).length +
        jobs.filter(({ job }) => job.uses).length +
        givenSteps.filter(({ uses }) => uses).length,
    );
    for (const [action, found] of versions) assert.equal(found.size, 1, `${action} in several versions`);
  });

  it("use one version of the Pulumi CLI, that of the SDK", () => {
    const { devDependencies = {}, dependencies = {} } = read("package.json") as Record<
      string,
      Record<string, string>
    >;
    const version = readFileSync(path.join(ROOT, ".pulumi.version"), "utf8").trim();
    assert.equal(version, { ...dependencies, ...devDependencies }["@pulumi/pulumi"]);
    const pulumi = steps.filter(({ step }) => step.uses?.startsWith("pulumi/actions@"));
    assert.ok(pulumi.length >= 4);
    for (const { name, step } of pulumi)
      assert.equal(step.with?.["pulumi-version-file"], ".pulumi.version", name);
  });

  it("leave no credentials in the checked out repository", () => {
    for (const { name, step } of steps.filter(({ step }) => step.uses?.startsWith("actions/checkout@")))
      assert.equal(step.with?.["persist-credentials"], false, name);
  });

  it("check the repository out before they use an action of it", () => {
    for (const { name, steps } of stepLists) {
      const local = steps.findIndex(({ uses }) => LOCAL.test(uses ?? ""));
      const checkout = steps.findIndex(({ uses }) => uses?.startsWith("actions/checkout@"));
      if (local >= 0) assert.ok(checkout >= 0 && checkout < local, name);
    }
  });

  it("give an action of ours the inputs that it has, and all that it needs", () => {
    for (const { name, step } of steps) {
      const action = actions.get(step.uses ?? "");
      if (!action) continue;
      const given = Object.keys(step.with ?? {});
      assert.deepEqual(
        given.filter((input) => !(input in action.inputs)),
        [],
        name,
      );
      const needed = Object.keys(action.inputs).filter((input) => action.inputs[input]?.required);
      assert.deepEqual(
        needed.filter((input) => !given.includes(input)),
        [],
        name,
      );
    }
  });

  it("name a shell for each script of an action: GitHub has no default there", () => {
    for (const [name, { runs }] of actions) {
      assert.equal(runs.using, "composite");
      for (const step of runs.steps.filter(({ run }) => run)) assert.equal(step.shell, "bash", name);
    }
  });

  it("test what is merged before they deploy it, and deploy prod after dev", () => {
    const { dev, prod, test } = workflows.get("up.yml")?.jobs ?? {};
    assert.equal(test?.uses, "./.github/workflows/test.yml");
    assert.deepEqual([test?.if, dev?.needs, prod?.needs], [undefined, "test", "dev"]);
  });

  it("release what has been tested, by jobs that run no script of ours or of a dependency", () => {
    const { check, publish, release, ...made } = workflows.get("release.yml")?.jobs ?? {};
    const { pack } = made;
    assert.deepEqual(Object.keys(made), ["test", "e2e", "images", "pack"]);
    for (const [name, { needs }] of Object.entries(made)) assert.equal(needs, "check", name);
    assert.deepEqual(publish?.needs, Object.keys(made));
    assert.equal(release?.needs, "publish");
    assert.match(check?.steps?.at(-1)?.run ?? "", /node \.ci\/release\.mjs "\$GITHUB_REF_NAME"/);
    for (const job of [publish, release]) {
      const text = JSON.stringify(job?.steps);
      assert.doesNotMatch(text, /actions\/checkout|npm (ci|install|run|test)/);
    }
    // A cache that another job wrote could bring anything into the package.
    assert.doesNotMatch(JSON.stringify([pack, publish]), /"cache":|actions\/cache/);
  });

  it("look for drift from the commit that was deployed", () => {
    const { steps = [] } = workflows.get("drift.yml")?.jobs["drift"] ?? {};
    const [checkout, preview] = [steps[0], steps.at(-1)];
    assert.equal(checkout?.with?.["fetch-depth"], 0);
    assert.equal(preview?.with?.["work-dir"], "deployed");
    assert.equal(preview?.with?.["expect-no-changes"], true);
    const find = steps.find(({ id }) => id === "deployed")?.run ?? "";
    assert.match(find, /deployedCommit\.mjs/);
    assert.match(find, /git worktree add deployed "\$commit"/);
  });

  it("ask for the verdict again when a label that allows a break comes or goes", () => {
    const { on, jobs } = workflows.get("manifests.yml") ?? {};
    const types = ["opened", "synchronize", "reopened", "labeled", "unlabeled"];
    assert.deepEqual(on, { pull_request: { types } });
    assert.match(JSON.stringify(jobs?.["rendered"]?.steps), /labels\.\*\.name, 'allow-breaking-crd'/);
    assert.ok(jobs?.["comment"]?.if?.includes(SAME_REPOSITORY));
  });

  it("comment only if the job before has found something", () => {
    for (const { name, job } of jobs.filter(({ job }) => job.uses?.endsWith("/comment.yml"))) {
      assert.match(
        job.if ?? "",
        new RegExp(`!cancelled\\(\\) && needs\\.${job.needs}\\.outputs\\.found == 'true'`),
        name,
      );
    }
  });

  describe("test the supported versions, as docs/deploy.md has them", () => {
    const page = readFileSync(path.join(ROOT, "docs/deploy.md"), "utf8");
    const [, text = ""] = /^\| \| supported \|.*\n((?:\|.*\n)+)/m.exec(page) ?? [];
    const rows = new Map(
      [...text.matchAll(/^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$/gm)].map(
        ([, name = "", supported, tested]) => [name, { supported, tested: tested ?? "" }],
      ),
    );
    const matrix = (file: string, job: string) => workflows.get(file)?.jobs[job]?.strategy?.matrix ?? {};

    it("of Kubernetes", () => {
      const { version = [] } = matrix("versions.yml", "kubernetes");
      const clusters = (matrix("e2e.yml", "e2e")["image"] ?? []).map(
        (image) => /:(v[\d.]+)@/.exec(image)?.[1],
      );
      const { supported, tested = "" } = rows.get("Kubernetes") ?? {};
      const [weekly, nightly = ""] = tested.split(" every week");
      assert.deepEqual(weekly?.match(/v[\d.]+\d/g), version);
      assert.deepEqual(nightly.match(/v[\d.]+\d/g), [kubernetesVersion, ...clusters]);
      const minor = (of?: string) => of?.slice(1).split(".").slice(0, 2).join(".");
      assert.equal(supported, `${minor(version[0])} to ${minor(version.at(-1))}`);
      assert.deepEqual(
        [minor(clusters[0]), minor(clusters.at(-1))],
        [minor(version[0]), minor(version.at(-1))],
      );
    });

    it("of Argo", () => {
      const installed = (tag: string) => `${tag}, which Argosy installs`;
      assert.equal(rows.get("Argo Events")?.supported, installed(IMAGES.argoEvents.tag));
      assert.equal(rows.get("Argo Workflows")?.supported, installed(IMAGES.workflowController.tag));
    });

    it("of Pulumi", () => {
      const { dependencies = {}, devDependencies = {} } = read("package.json") as Record<
        string,
        Record<string, string>
      >;
      const oldest =
        workflows
          .get("versions.yml")
          ?.jobs["pulumi"]?.steps?.map(({ run }) => run)
          .join("\n") ?? "";
      for (const name of ["@pulumi/pulumi", "@pulumi/kubernetes"]) {
        const { supported, tested } = rows.get(`\`${name}\``) ?? {};
        const [, old = ""] = new RegExp(`${name}@([\\d.]+\\d)`).exec(oldest) ?? [];
        const newest = { ...dependencies, ...devDependencies }[name];
        assert.equal(supported, `${old.split(".").slice(0, 2).join(".")} or newer`);
        assert.equal(tested, `${newest} with each change, ${old} every week`);
      }
    });

    it("of Node", () => {
      const nodes = matrix("test.yml", "test")["node"]?.map(String);
      const { supported, tested } = rows.get("Node") ?? {};
      assert.deepEqual([supported, nodes], ["22 and 24", ["20.19", "22", "24"]]);
      assert.match(tested ?? "", /^both with each change\. 20\.19 is tested too/);
    });
  });

  it("put nothing of an event into a script's text, where it would be run", () => {
    for (const { name, step } of steps) assert.doesNotMatch(step.run ?? "", /\$\{\{/, name);
  });

  it("run only existing scripts", () => {
    const { scripts } = read("package.json") as { readonly scripts: Readonly<Record<string, string>> };
    const text = steps.map(({ step }) => step.run ?? "").join("\n");
    const named = [...text.matchAll(/\bnpm (?:--prefix \S+ )?run (?:--\S+ )*(\w+)/g)].map(
      ([, name = ""]) => name,
    );
    assert.ok(named.length > 2);
    for (const name of [...named, ...(/\bnpm start\b/.test(text) ? ["start"] : [])])
      assert.ok(name in scripts, name);
    const ours = [...text.matchAll(/(?<=^|\s)\.ci\/\S+/gm)].map(([script]) => script);
    assert.ok(ours.length > 4);
    for (const script of ours) assert.ok(existsSync(path.join(ROOT, script)), script);
  });

  it("render each stack that there is", () => {
    const text = steps.map(({ step }) => step.run ?? "").join("\n");
    const stacks = readdirSync(ROOT).flatMap((file) => /^Pulumi\.(.+)\.yaml$/.exec(file)?.[1] ?? []);
    assert.match(text, new RegExp(`for stack in ${stacks.join(" ")}; do`));
  });

  it("end by themselves", () => {
    for (const { name, job } of jobs.filter(({ job }) => !job.uses)) assert.ok(job["timeout-minutes"], name);
  });

  describe("keep credentials", () => {
    const withCredentials = jobs.filter(
      ({ job }) => /\bsecrets\b/.test(JSON.stringify(job)) || job.permissions?.["id-token"] === "write",
    );

    it("from the code of forks", () => {
      const forPullRequests = withCredentials.filter(
        ({ file }) => "pull_request" in (workflows.get(file)?.on ?? {}),
      );
      assertEach(forPullRequests, ({ name }) => name, ["preview.yml preview", "preview.yml diff"]);
      for (const { name, job } of forPullRequests) {
        assert.ok(job.if?.split(" && ").includes(SAME_REPOSITORY), name);
      }
    });

    it("in environments, whose rules say who may have them", () => {
      for (const { name, job } of withCredentials.filter(({ job }) => !job.uses))
        assert.ok(job.environment, name);
    });

    it("from anyone who has not set Pulumi up: without an organization or a backend nothing of it runs", () => {
      const first = withCredentials.filter(
        ({ file, job }) => /^(?!release|scorecard)/.test(file) && job.needs !== "dev",
      );
      assertEach(first, ({ name }) => name, [
        "drift.yml drift",
        "preview.yml preview",
        "preview.yml diff",
        "up.yml dev",
      ]);
      for (const { name, job } of first) assert.match(job.if ?? "", IS_SET_UP, name);
    });

    it("from the scripts of dependencies, wherever a job may have a token", () => {
      const template = read("templates/typescript/.github/workflows/operators.yml") as Workflow;
      const { deploy } = template.jobs;
      assert.match(JSON.stringify(deploy), /\bsecrets\b/);
      const ofJobs = [...withCredentials.map(({ job }) => job), deploy].flatMap((job) => job?.steps ?? []);
      const ofActions = [...actions.values()].flatMap(({ runs }) => runs.steps);
      const installs = [...ofJobs, ...ofActions].flatMap(
        ({ run = "" }) => run.match(/\bnpm .*\b(ci|install)\b.*/g) ?? [],
      );
      assert.equal(installs.length, 3);
      for (const install of installs) assert.match(install, / --ignore-scripts\b/);
      for (const { name, job } of withCredentials)
        assert.doesNotMatch(JSON.stringify(job), /"env":.*secrets\./, name);
    });
  });
});
