// The handler of a chaos run. It acts outside of Kubernetes, once for each id as far as it knows: it remembers in the
// object's status for which one it has. What a crash makes it forget, the outside knows by the id.
const { appendFileSync, readFileSync } = require("node:fs");
const { createInterface } = require("node:readline");
const { setTimeout: sleep } = require("node:timers/promises");
const { childrenOf } = require("./children.js");

const version = Number(readFileSync("version", "utf8"));
const { LEDGER, LEDGER_FILE = "/tmp/effects.jsonl" } = process.env;

createInterface({ input: process.stdin }).on("line", (line) => void answer(JSON.parse(line)));

async function answer({ id, event, object }) {
  const { metadata, spec, status } = object;
  if (event === "reconcile" && Date.now() < spec.until) {
    if (spec.trouble === "crash") process.exit(7);
    if (spec.trouble === "hang") return;
    if (spec.trouble === "garbage") return tell("{");
    return tell(JSON.stringify({ error: { message: "not yet" } }));
  }
  try {
    if (event === "finalize") {
      await act({ id: `${metadata.uid}/finalized`, value: -1 });
      return tell(JSON.stringify({ finalized: true }));
    }
    if (status?.acted !== id) await act({ id, value: spec.value });
    await sleep(spec.delayMs);
    const children = childrenOf(metadata.name, spec, version);
    tell(JSON.stringify({ children, status: { value: spec.value, version, acted: id } }));
  } catch (error) {
    tell(JSON.stringify({ error: { message: `the ledger: ${error.message}`, retryAfterSeconds: 1 } }));
  }
}

/** What it does outside: an entry in a ledger, by a request where there is a server of one, else in a file. */
async function act(entry) {
  if (!LEDGER) return appendFileSync(LEDGER_FILE, `${JSON.stringify(entry)}\n`);
  const signal = AbortSignal.timeout(8_000);
  const response = await fetch(LEDGER, { method: "POST", body: JSON.stringify(entry), signal });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
}

function tell(line) {
  process.stdout.write(`${line}\n`);
}
