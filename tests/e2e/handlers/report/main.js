const fs = require("node:fs");
const { createInterface } = require("node:readline");

const EDITION = "first";
// What a handler may do wrong, one number each.
const SLOW = 47;
const CRASHES = 48;
const HANGS = 49;
const MOST = 50;
const LOOK_MS = 200;

function reconcile({ object }) {
  const { name } = object.metadata;
  const { pages } = object.spec;
  if (pages > MOST) return { error: { message: `${pages} pages are more than ${MOST}`, permanent: true } };
  const data = { pages: String(pages), edition: EDITION };
  return { children: [{ apiVersion: "v1", kind: "ConfigMap", metadata: { name }, data }], status: { pages } };
}

function answer(request) {
  console.log(JSON.stringify({ id: request.id, ...reconcile(request) }));
}

/** A slow handler waits for a test's signal, because the time that a cluster takes for anything else is unknown. */
function answerAtAWord(request) {
  fs.writeFileSync("/tmp/began", "");
  if (fs.existsSync("/tmp/go")) answer(request);
  else setTimeout(answerAtAWord, LOOK_MS, request);
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const request = JSON.parse(line);
  const { pages } = request.object.spec;
  if (pages === CRASHES) {
    console.error("the cellar is flooded");
    process.exit(3);
  }
  if (pages === SLOW) answerAtAWord(request);
  else if (pages !== HANGS) answer(request);
});
