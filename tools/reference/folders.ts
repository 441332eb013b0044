/** The folders of the map in CONTRIBUTING.md, in its order, and the files that can say nothing of themselves in a first line. */
export const FOLDERS: Readonly<Record<string, string>> = {
  "index.ts": "This repository's program. It uses the package by its name. Begin here.",
  "Pulumi*.yaml": "The defaults of every key of the configuration; two stacks, one small and one large.",
  "components/": "What `pulumi up` creates.",
  "components/arguments/": "What a program or a stack's configuration may give, and the checks of it.",
  "components/inCluster/": "The cluster of a component, and what must hold there first.",
  "components/manifests/": "Pure builders of manifests, and what all of them share.",
  "components/manifests/platform/": "Argo's controllers, their CRDs and rights.",
  "components/manifests/eventPath/": "Event bus, sensor, event source.",
  "components/manifests/outside/": "The same for events from outside, and their intake.",
  "components/manifests/operator/": "One operator: rights, files, pod, Workflows.",
  "components/manifests/monitoring/": "Alerts and a dashboard.",
  "components/crdVerdict/": "What a change of a CRD breaks.",
  "preflight/":
    "The checks of a cluster before a deployment. Knows kubeconfigs, and nothing about the components.",
  "definition/": "An operator as its author writes it: read, checked, loaded.",
  "definition/fields/": "What may stand in each field.",
  "runtime/": "The engine: knows no Pulumi, no kubeconfig.",
  "runtime/base/": "What everything may use and what knows nothing above it.",
  "runtime/base/http/": "The servers' common parts, and the one reader of bodies.",
  "runtime/kubernetes/": "A small client: requests, the gate that puts them in order, typed errors.",
  "runtime/operator/":
    "What an operator is to the engine, and what becomes of an event from outside (mapEvent.ts).",
  "runtime/leadership/": "Who may write: a Lease, and how it is handed over in a roll-out.",
  "runtime/handler/": "The contract, and the handler's processes.",
  "runtime/handler/container/":
    "The handler in a container of its own: named pipes, and the shell at their other end.",
  "runtime/handler/functions/": "The loop around a handler's function.",
  "runtime/observe/":
    "What is known of the cluster: lists, watches, stores, and children: whose they are (ownership.ts).",
  "runtime/observe/uses/": "What custom resources use: their references, who uses what, and the objects.",
  "runtime/when/":
    "What wakes an object, and how soon (the table in rules.ts; wakeups.ts reads it), when each is worked on (workQueue.ts), which of the ready ones is next (readyKeys.ts), and how many are worked on at once, and how much of large ones (workers.ts).",
  "runtime/write/": "Children applied and deleted, and finalizers.",
  "runtime/remember/": "What the engine must remember of an object, and the status that is written.",
  "runtime/secrets/": "Takes the values of Secrets out of everything that is reported.",
  "runtime/reconcile/":
    "One object: read, ask, check, apply, delete. Returns an outcome, and reports nothing.",
  "runtime/report/":
    "What is reported of an outcome: conditions, Workflows as records, Events. After the work, and bounded.",
  "runtime/report/traces/": "Traces of runs: spans, their encoding in OTLP, and the exporter.",
  "runtime/engine/": "One operator: what is known of its cluster, what is worked on, and who leads.",
  "runtime/engine/dispatch/":
    "What takes the place of the reconciler if runs have pods: dispatcher.ts says what becomes of an object.",
  "runtime/programs/":
    "The engine in a pod: main.ts begins a command, each in a folder of its own. layout.ts says where things are.",
  "runtime/programs/resident/": "The runner: reconciles for ever. replay.ts: Workflows that people submit.",
  "runtime/programs/run/": "A run in its own pod: one object, until nothing is left to do.",
  "runtime/programs/keep/": "The keeper: replaces pods that started before their event bus.",
  "runtime/programs/intake/": "Creates custom resources from events from outside.",
  "runtime/programs/workflows/": "What a Workflow asks of the engine, and what it gets.",
  "cli/": "The command argosy, for authors and for a cluster. `npm run argosy -- --help`.",
  "cli/commands/": "Each command: its help, its options and its action.",
  "cli/common/": "What all commands use: the command line, the terminal, files, and the user's program.",
  "cli/cluster/": "The cluster that a command works on: the user's, or the embedded control plane.",
  "cli/handler/": "A handler's process on this machine: its account and its environment.",
  "cli/local/": "An operator on this machine: its CRD, its accounts and its engine.",
  "cli/fixtures/": "Fixtures: read, played step by step, compared, written.",
  "cli/controlPlane/": "The embedded control plane.",
  "cli/render/": "The program without Pulumi.",
  "cli/doctor/": "What is missing on a machine and in a cluster.",
  "cli/rights/": "The rights that roles and bindings give to accounts.",
  "cli/errors/":
    "What each error code means: one table, for the command, docs/reference/errors.md and explain.",
  "cli/diff/": "What a handler would change: the engine's steps on a client that writes nothing.",
  "cli/fuzz/":
    "Looks for bugs in handlers: values (values.ts), lives and what goes wrong in them (cases.ts), the search, and a fixture of what it found.",
  "cli/record/": "A live object as a fixture: without noise, with fakes for the values of Secrets.",
  "cli/debug/": "One object's handler under a debugger, while the usual processes serve all others.",
  "cli/inspect/": "What a cluster reports about operators, objects and runs. explanation.ts combines it.",
  "cli/scene/": "What `npm start` shows, one step in each file.",
  "handlers/": "The operators of this program: yours. No test, check or command of Argosy's own reads them.",
  "examples/": "Operators to learn from. `npm start` and the tests use them.",
  "designs/": "One page for each decision: why it is so. docs/critiques.md: what is wrong with it.",
  "docs/":
    "The pages for users. docs/README.md and docs/reference/ are generated: `npm run reference`, and golden tests.",
  "plugin/": "The Pulumi package for other languages. They see schema.json, which is generated.",
  "templates/": "A program to begin with, in each language.",
  ".ci/": "What the workflows run.",
  "tests/schemas/": "Argo's JSON schemas of the installed releases; trim.mjs generates them.",
  "tests/unit/": "No cluster.",
  "tests/ported/":
    "Operators that others have written with other tools, for argosy fuzz: it must find nothing in them.",
  "tests/package/": "The packed package as users install it, and this repository with other handlers.",
  "tests/golden/":
    "Every object of dev, what prod changes, the rights of every account with operators of every shape, and the names that no release may take away; UPDATE_GOLDEN=1 npm test -- --grep golden writes them.",
  "tests/integration/": "On the embedded control plane.",
  "tests/integration/hostile/":
    "Other controllers, forgers, lost namespaces: what a cluster does to an operator.",
  "tests/e2e/":
    "On a real cluster with Pulumi, which must be empty before and is empty afterwards: `npm run e2e`.",
  "tools/": "Tools for maintainers: test, coverage, e2e, bench, chaos.",
  "tools/pictures/": "The pictures of docs/: `npm run pictures` draws them.",
  "tools/reference/": "The pages of docs/ that are generated from the sources.",
  "tools/build/": "The declarations of the package, and the licences of what it contains.",
  "tools/site/":
    "Builds a site of README.md, docs/ and the examples. navigation.json has the order of the pages, with a summary of each.",
  "tools/bench/": "The same work as its peers, the duration of commands, and the cost of a restart.",
  "tools/chaos/": "A seeded plan of changes and faults, and the oracle that judges the result.",
  "tools/chaos/kills/":
    "Scenarios in which an engine is killed at each write. tests/unit/net*.test.ts run them in memory.",
  "tools/chaos/inCluster/":
    "On a real cluster: `npm run chaos`. Its README describes it, its short form and its results.",
};
