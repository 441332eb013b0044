// The handler of a chaos run, in the general form: it also hangs, crashes and writes garbage. It acts outside of Kubernetes, once
// for each key that it remembers in the object's status. If a crash makes it forget a key, the outside system still knows the
// key.
const { appendFileSync, readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");
const { setTimeout: sleep } = require("node:timers/promises");
const { childrenOf } = require("./children.js");

const version = Number(readFileSync("version", "utf8"));
const { LEDGER, LEDGER_FILE = "/tmp/effects.jsonl" } = process.env;

createInterface({ input: process.stdin }).on("line", (line) => void answer(JSON.parse(line)));

async function answer({ id, key, event, object }) {
  const tell = (text) => process.stdout.write(`${JSON.stringify({ id, ...text })}\n`);
  const { metadata, spec, status } = object;
  if (event === "reconcile" && Date.now() < spec.until) {
    if (spec.trouble === "crash") process.exit(7);
    if (spec.trouble === "hang") return;
    if (spec.trouble === "garbage") return process.stdout.write("{\n");
    return tell({ error: { message: "not yet" } });
  }
  try {
    if (event === "finalize") {
      await act({ key: `${metadata.uid}/finalized`, value: -1 });
      return tell({ finalized: true });
    }
    if (status?.acted !== key) await act({ key, value: spec.value });
    await sleep(spec.delayMs);
    const children = childrenOf(metadata.name, spec, version);
    tell({ children, status: { value: spec.value, version, acted: key } });
  } catch (error) {
    tell({ error: { message: `the ledger: ${error.message}`, retryAfterSeconds: 1 } });
  }
}

/** The effect outside: an entry in a ledger, by a request if there is a server, or else in a file. */
async function act(entry) {
  if (!LEDGER) return appendFileSync(LEDGER_FILE, `${JSON.stringify(entry)}\n`);
  const signal = AbortSignal.timeout(8_000);
  const response = await fetch(LEDGER, { method: "POST", body: JSON.stringify(entry), signal });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
}
