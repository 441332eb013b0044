import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { ChildProcessTransport } from "../../../cli/handler/childProcessTransport";
import { type HandlerQuestion, questionAbout } from "../../../runtime/handler/contract";

/** Runs a shell script as a handler: it starts within a few milliseconds, and every machine has it. */
export function shellHandler(
  script: string,
  env: Readonly<Record<string, string>> = {},
): ChildProcessTransport {
  return new ChildProcessTransport({ command: ["sh", "-c", script], folder: tmpdir(), env });
}

/** A handler that answers every line with itself. */
export const ECHO = 'while read -r line; do echo "$line"; done';

/** A question about an object that has this word for its name. */
export function question(word = "question"): HandlerQuestion {
  const metadata = { name: word, uid: "uid", resourceVersion: "1", generation: 1 };
  const object = { apiVersion: "shop.example.com/v1", kind: "Widget", metadata };
  return questionAbout({ event: "reconcile", object, children: [], attempt: 1 });
}

/**
 * The head of a handler in shell: `next` reads a request into $id and $word, which is its object's name, and ends the
 * handler after the last; `say TEXT` answers it, with the process's id.
 */
export const SHELL = `
next() {
  read -r line || exit 0
  id=\${line#*'"id":"'}; id=\${id%%'"'*}
  word=\${line#*'"name":"'}; word=\${word%%'"'*}
}
say() { echo "{\\"id\\":\\"$id\\",\\"pid\\":$$,\\"word\\":\\"$1\\"}"; }
`;

/** Whether a process runs: one that has ended and only waits for its parent to notice does not. */
export function isAlive(pid: number): boolean {
  if (existsSync("/proc/self/stat")) return stateOf(pid) !== "Z";
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Linux' letter for a process's state. "Z" if the process does not exist. */
function stateOf(pid: number): string | undefined {
  try {
    return /\) (.)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1];
  } catch {
    return "Z";
  }
}

/** Handlers that answer one question and read no other, by what they do then. */
export const LEAVING = {
  "closes its input and goes on": `${SHELL} next; exec <&-; say "$word"; sleep 60`,
  "ends a moment after it": `${SHELL} next; say "$word"; sleep 0.05`,
};
