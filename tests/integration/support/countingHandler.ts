/** The source of a handler that counts how often it acted, and keeps what it was asked in calls.jsonl. */
const counting = (field: "object.status" | "state", key: "status" | "state") => `
const fs = require("node:fs");
require("node:readline").createInterface({ input: process.stdin }).on("line", (line) => {
  fs.appendFileSync("calls.jsonl", line + "\\n");
  const { id, object, state } = JSON.parse(line);
  const count = (${field}?.count ?? 0) + 1;
  process.stdout.write(JSON.stringify({ id, children: [], ${key}: { count } }) + "\\n");
});
`;

/** Counts in the status. */
export const COUNTS = counting("object.status", "status");
/** The schema of that status. */
export const COUNTS_STATUS = { type: "object", properties: { count: { type: "integer" } } };
/** Counts in the state, which is remembered of an object that is not ours. */
export const COUNTS_IN_STATE = counting("state", "state");
