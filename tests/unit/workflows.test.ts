import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parse } from "yaml";

const ROOT = path.resolve(__dirname, "../..");
const LOCAL = /^\.\//;

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
  readonly shell?: string;
}

interface Job {
  readonly uses?: string;
  readonly if?: string;
  readonly secrets?: unknown;
  readonly steps?: readonly Step[];
  readonly environment?: string;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly "timeout-minutes"?: number;
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
  // A token of Pulumi Cloud, and the comment.
  "preview.yml preview": ["id-token", "pull-requests"],
  // A token of Pulumi Cloud.
  "drift.yml drift": ["id-token"],
  "up-stack.yml up": ["id-token"],
  "up.yml dev": ["id-token"],
  "up.yml prod": ["id-token"],
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
  it("are there to be looked at", () => {
    assert.deepEqual([...workflows.keys()].sort(), [
      "drift.yml",
      "e2e.yml",
      "preview.yml",
      "test.yml",
      "up-stack.yml",
      "up.yml",
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

  it("say what they may, and may write only where they have to", () => {
    for (const [file, { permissions }] of workflows)
      assert.deepEqual(permissions, { contents: "read" }, file);
    const writing = jobs.flatMap(({ name, job }) => {
      const rights = Object.entries(job.permissions ?? {}).filter(([, right]) => right !== "read");
      return rights.length > 0 ? [[name, rights.map(([right]) => right).sort()]] : [];
    });
    assert.deepEqual(Object.fromEntries(writing), MAY_WRITE);
  });

  it("give a called workflow what its jobs need", () => {
    for (const { name, job } of jobs.filter(({ job }) => job.uses)) {
      const called = workflows.get(path.basename(job.uses ?? ""));
      assert.ok(called && "workflow_call" in called.on, name);
      for (const inner of Object.values(called.jobs)) {
        assert.deepEqual(job.permissions, inner.permissions, name);
      }
    }
  });

  it("take every action in one major version, or from here", () => {
    for (const { name, step } of steps.filter(({ step }) => step.uses)) {
      const { uses = "" } = step;
      if (LOCAL.test(uses)) assert.ok(actions.has(uses), `${name}: ${uses}`);
      else assert.match(uses, /^[\w-]+\/[\w-]+@(v\d+|[0-9a-f]{40})$/, name);
    }
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

  it("put nothing of an event into a script's text, where it would be run", () => {
    for (const { name, step } of steps) assert.doesNotMatch(step.run ?? "", /\$\{\{/, name);
  });

  it("run scripts that there are", () => {
    const { scripts } = read("package.json") as { readonly scripts: Readonly<Record<string, string>> };
    const text = steps.map(({ step }) => step.run ?? "").join("\n");
    const named = [...text.matchAll(/\bnpm (?:--prefix \S+ )?run (?:--\S+ )*(\w+)/g)].map(
      ([, name = ""]) => name,
    );
    assert.ok(named.length > 2);
    for (const name of [...named, ...(/\bnpm start\b/.test(text) ? ["start"] : [])])
      assert.ok(name in scripts, name);
    for (const [script = ""] of text.matchAll(/^\.\S+$/gm))
      assert.ok(existsSync(path.join(ROOT, script)), script);
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
      assert.deepEqual(
        forPullRequests.map(({ name }) => name),
        ["preview.yml preview"],
      );
      for (const { name, job } of forPullRequests) {
        const sameRepository = "github.event.pull_request.head.repo.full_name == github.repository";
        assert.ok(job.if?.split(" && ").includes(sameRepository), name);
      }
    });

    it("in environments, whose rules say who may have them", () => {
      for (const { name, job } of withCredentials.filter(({ job }) => !job.uses))
        assert.ok(job.environment, name);
    });

    it("from whoever has not set Pulumi up: without an organization nothing of it runs", () => {
      const alone = withCredentials.filter(({ file, job }) => file !== "up-stack.yml" && !("needs" in job));
      assert.equal(alone.length, 3);
      for (const { name, job } of alone) assert.match(job.if ?? "", /^vars\.PULUMI_ORGANIZATION != ''/, name);
    });
  });
});
