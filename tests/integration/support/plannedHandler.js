// The handler of most tests, in the general form: it does what the object's spec tells it, or, so that its mind can change while the
// object does not, the file plans/<object's name>.json. It keeps what it was asked in calls.jsonl.
const fs = require("node:fs");
const { createInterface } = require("node:readline");

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, event, object } = JSON.parse(line);
  // As it came: JSON.parse would round long integers.
  fs.appendFileSync("calls.jsonl", `${line.slice(0, -1)},"askedAt":${Date.now()}}\n`);
  const file = `plans/${object.metadata.name}.json`;
  const plans = fs.existsSync(file) ? JSON.parse(fs.readFileSync(file, "utf8")) : (object.spec ?? {});
  const plan = event === "finalize" ? (plans.finalize ?? { answer: { finalized: true } }) : plans;
  if (plan.log) process.stderr.write(`${plan.log}\n`);
  if (plan.exitCode !== undefined) process.exit(plan.exitCode);
  if (plan.hang) return;
  const text = JSON.stringify({ id, ...(plan.answer ?? { children: [] }) });
  const answer = plan.raw?.replaceAll("$ID", id) ?? text.replaceAll("$CONTROLLER", process.env.CONTROLLER);
  const bytes = plan.bytes ? "x".repeat(plan.bytes) : answer;
  const send = () => process.stdout.write(`${bytes}\n`);
  if (!plan.holds) return setTimeout(send, plan.delayMs ?? 0);
  const looking = setInterval(() => {
    if (!fs.existsSync(`plans/${object.metadata.name}.released`)) return;
    clearInterval(looking);
    send();
  }, 50);
  // It ends with its input, even if the object was not released.
  looking.unref();
});
