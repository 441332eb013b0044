import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { typesOf } from "../../../cli/types/typesOf";
import { loadOperators } from "../../../definition/loadOperators";
import { Sources } from "../../../tools/reference/sources";
import { loadDefinition, widgetCrd, widgetVersion, writeFolder } from "../operatorFolder";
import { BLOCKS } from "./pages";
import { PROJECT } from "./projectCopy";

export const ALL = {
  crd: "crd.yaml",
  children: [
    "apps/v1/Deployment",
    "v1/ConfigMap",
    "rbac.authorization.k8s.io/v1/RoleBinding",
    "a.example.com/v1/Index",
  ],
  grants: ["ClusterRole/view"],
  uses: {
    credentials: { apiVersion: "v1", kind: "Secret", name: "spec.secret" },
    parts: { apiVersion: "a.example.com/v1", kind: "Part", labels: { of: "metadata.name" } },
  },
  schedules: { nightly: { cron: "0 3 * * *" } },
  finalize: true,
};
export const WATCHING = {
  watch: { apiVersion: "apps/v1", kind: "Deployment", labels: { a: "b" } },
  children: ["v1/ConfigMap"],
};
const SPEC = {
  spec: {
    type: "object",
    properties: { greeting: { type: "string" }, secret: { type: "string" } },
    required: ["greeting"],
  },
  status: { type: "object", properties: { greeted: { type: "boolean" } } },
};

/** Statements that a type takes, and such as it does not. */
interface Case {
  readonly definition: object;
  readonly right: readonly string[];
  readonly wrong: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  everything: {
    definition: ALL,
    right: [
      "const answer: Answer = { children: [] }",
      'const answer: Answer = { error: { message: "x" } }',
      'const answer: FinalizeAnswer = { error: { message: "x", retryAfterSeconds: 1, permanent: true } }',
      "const answer: FinalizeAnswer = { finalized: true, status: { greeted: true }, requeueAfterSeconds: 1 }",
      "const count: number = request.due.filter(({ name, at }) => name === 'nightly' && at > '').length",
      'const password: string | undefined = request.used.credentials?.data?.["password"]',
      "const size = request.used.parts.map(({ spec }) => spec.size)",
      'const child: Children["apps/v1/Deployment"] = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { selector: {}, template: { spec: { containers: [{ name: "a" }] } } } }',
      'const answer: Answer = { children: [request.children[0] as Children["apps/v1/Deployment"]] }',
      'const child: Children["a.example.com/v1/Index"] = { apiVersion: "a.example.com/v1", kind: "Index", metadata: { name: "a" }, spec: {} }',
      'const ready: number = request.children.find(({ kind }) => kind === "Deployment")?.status?.readyReplicas ?? 0',
      "const words: [string, string, string, true | undefined, string | undefined] = [request.id, request.key, request.event, request.dryRun, request.trace]",
    ],
    wrong: [
      "const answer: Answer = {}",
      "const answer: Answer = { children: [], lables: {} }",
      "const answer: Answer = { children: [], state: {} }",
      "const answer: FinalizeAnswer = { children: [] }",
      'const is = request.due.some(({ name }) => name === "hourly")',
      "const data = request.used.credentials.data",
      "const other = request.used.other",
      "const state = request.state",
      'const child: Children["v1/Secret"] = request.children[0]',
      'const child: Children["apps/v1/Deployment"] = { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec: { selector: {}, template: { spec: { containers: [{ name: "a", imge: "b" }] } } } }',
      "const spec = request.objct",
    ],
  },
  watching: {
    definition: WATCHING,
    right: [
      "const answer: Answer = { children: [], state: { seen: 1 } }",
      "const seen: number = request.state?.seen ?? 0",
      "const image: string | undefined = request.object.spec.template.spec?.containers[0]?.image",
      "const uid: string = request.object.metadata.uid",
    ],
    wrong: ["const answer: Answer = { children: [], status: {} }", "const image = request.object.spec.imge"],
  },
};

/** A handler that is checked against the types that `argosy types` writes for it. */
export interface HandlerSample {
  readonly title: string;
  readonly name: string;
  readonly types: string;
  readonly code: string;
}

/** The name of a test's operator. Its types are made as if its folder were in this project, where Kubernetes' kinds have types. */
const NAME = "typed";

/** Makes the operator of a test. Returns what writes its types in the language of its handler. */
export function typeWriter(): (definition: object, handler: string) => string {
  const root = writeFolder({
    [`${NAME}/crd.yaml`]: widgetCrd({ versions: [widgetVersion({}, SPEC)] }),
    [`${NAME}/main.ts`]: "export function reconcile() {}\nexport function finalize() {}\n",
    [`${NAME}/main.py`]: "def reconcile(request): pass\ndef finalize(request): pass\n",
  });
  return (definition, handler) => {
    const operator = loadDefinition(path.join(root, NAME), { ...definition, handler });
    return typesOf({ ...operator, folder: PROJECT }).text;
  };
}

/** Handlers in TypeScript, and single answers and requests: of our own, of the documentation and of the examples. */
export function handlerSamples(): HandlerSample[] {
  const answers = BLOCKS.filter(({ role }) => role === "answer");
  const handlers = BLOCKS.filter(({ language, role }) => language === "js" && role === "function");
  const {
    object,
    used: _,
    ...request
  } = JSON.parse(BLOCKS.find(({ role }) => role === "request")?.code ?? "");
  const ours = { ...object, apiVersion: "shop.example.com/v1", kind: "Widget" };
  const example = JSON.stringify({ ...request, object: ours });
  const typesFor = typeWriter();
  const [all, watching] = [typesFor(ALL, "main.ts"), typesFor(WATCHING, "main.ts")];
  return [
    ...Object.entries(CASES).map(([name, { definition, right, wrong }]) => {
      const lines = [...right, ...wrong.map((line) => `// @ts-expect-error\n${line}`)].map((line, index) =>
        line.replace(/^const \w+/m, `export const value${index}`),
      );
      const code = `declare const request: Request;\n${lines.join(";\n")};\n`;
      const types = typesFor(definition, "main.ts");
      return { title: `what is right in the case ${name}, and nothing else`, name, types, code };
    }),
    ...[
      { name: "keysOfAll", types: all, code: keyTypes((text) => !text.startsWith("Only")) },
      { name: "keysOfWatching", types: watching, code: keyTypes((text) => !text.startsWith("Not")) },
    ].map((sample) => ({ title: `the keys of the contract, in ${sample.name}`, ...sample })),
    {
      title: "the request of the documentation",
      name: "request",
      types: all,
      code: `export const request: Omit<Request, "used"> = ${example};`,
    },
    ...answers.map(({ place, code }, index) => ({
      title: `the answer in ${place}`,
      name: `answer${index}`,
      types: all,
      code: `export const answer: Answer | FinalizeAnswer = ${code};`,
    })),
    ...handlers.map(({ place, code }, index) => ({
      title: `the handler in ${place}`,
      name: `handler${index}`,
      types: all,
      code: annotated(code),
    })),
    ...loadOperators(path.join(PROJECT, "examples")).flatMap((operator) => {
      const { handler, folder, name } = operator;
      if (!("function" in handler) || handler.function.endsWith(".py")) return [];
      const code = annotated(readFileSync(path.join(folder, handler.function), "utf8"));
      return [{ title: `the handler of the example ${name}`, name, types: typesOf(operator).text, code }];
    }),
  ];
}

/** A handler whose functions have these types. What only it calls may be of any type. */
function annotated(code: string): string {
  return code
    .replace(/^import type .*$/m, "")
    .replace(/(async )?function (\w+)\((.*)\).* \{/g, (whole, isAsync, name, parameters: string) => {
      const answer = { reconcile: "Answer", finalize: "FinalizeAnswer" }[name as string];
      if (!answer) return whole.replace(parameters, parameters.replace(/\w+/g, "$&?: any"));
      const request = parameters.replace(/: Request$/, "");
      return isAsync
        ? `async function ${name}(${request}: Request): Promise<${answer}> {`
        : `function ${name}(${request}: Request): ${answer} {`;
    })
    .replaceAll("catch (error)", "catch (error: any)");
}

/** A type that names each key of a request and of an answer to reconcile. */
function keyTypes(isWanted: (meaning: string) => boolean): string {
  const contract = new Sources(["runtime/handler/contract.ts"]);
  const keysOf = (type: string) =>
    contract
      .describe(type)
      .members.filter(({ doc }) => isWanted(doc.text))
      .map(({ name }) => name);
  const [ofRequest, ofAnswer] = [keysOf("HandlerRequest"), keysOf("ReconcileAnswer")];
  assert.ok(ofRequest.length > 8 && ofAnswer.length > 3, `${ofRequest}, ${ofAnswer}`);
  const types = [
    ...ofRequest.map((key) => `Request["${key}"]`),
    ...ofAnswer.map((key) => `Extract<Answer, { children: unknown }>["${key}"]`),
  ];
  return `export type Keys = [${types.join(", ")}];`;
}
