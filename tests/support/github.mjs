/**
 * A stand-in for GitHub over real HTTP: the few calls of its REST API that the example deploy-notifier makes, and webhooks
 * signed as GitHub signs them (docs.github.com, "Validating webhook deliveries"). Started by itself: `node github.mjs`. It
 * prints its port. In tests it is told what there is by paths that begin with `/stand-in/`.
 */
import { createHmac } from "node:crypto";
import { createServer } from "node:http";

const { PORT = "0", TOKEN = "token" } = process.env;
const PAGE = 2;

/** By "owner/name": `commits`, the newest last, each with the pull request that it came from. */
const repositories = new Map();
/** By "owner/name#number": the comments on a pull request or an issue. */
const comments = new Map();
/** What goes wrong with the next requests: `{ method, status }`, or `{ method, hangUp: true }` after the work is done. */
let faults = [];
let calls = [];

const server = createServer(async (request, response) => {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString()) : undefined;
  const url = new URL(request.url, "http://github");
  const answer = (status, content, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(JSON.stringify(content));
  };
  try {
    if (url.pathname.startsWith("/stand-in/"))
      return answer(200, await control(url.pathname.slice(10), body));
    calls.push(`${request.method} ${url.pathname}`);
    const fault = faults.find(({ method }) => method === request.method);
    if (fault) faults = faults.filter((other) => other !== fault);
    if (fault?.status) return answer(fault.status, { message: "stand-in" }, fault.headers);
    if (request.headers.authorization !== `Bearer ${TOKEN}`)
      return answer(401, { message: "Bad credentials" });
    const { status, content, headers } = api(request.method, url, body);
    if (fault?.hangUp) return request.socket.destroy();
    answer(status, content, headers);
  } catch (error) {
    answer(500, { message: String(error) });
  }
});

function api(method, url, body) {
  const [, repository, rest] = /^\/repos\/([^/]+\/[^/]+)\/(.*)$/.exec(url.pathname) ?? [];
  const known = repositories.get(repository);
  if (!known) return { status: 404, content: { message: "Not Found" } };
  const [, commit] = /^commits\/(\w+)\/pulls$/.exec(rest) ?? [];
  if (commit) {
    const pulls = known.commits.filter(({ sha, pull }) => sha === commit && pull);
    return page(
      url,
      pulls.map(({ pull }) => ({ number: pull })),
    );
  }
  const [, base, head] = /^compare\/(\w+)\.\.\.(\w+)$/.exec(rest) ?? [];
  if (base) {
    const [from, to] = [base, head].map((sha) => known.commits.findIndex((each) => each.sha === sha));
    if (from < 0 || to < 0) return { status: 404, content: { message: "Not Found" } };
    const { content, ...answer } = page(url, known.commits.slice(from + 1, to + 1));
    return { ...answer, content: { commits: content } };
  }
  const [, number] = /^issues\/(\d+)\/comments$/.exec(rest) ?? [];
  if (!number) return { status: 404, content: { message: "Not Found" } };
  const key = `${repository}#${number}`;
  if (method === "GET") return page(url, comments.get(key) ?? []);
  const comment = { id: 1 + [...comments.values()].flat().length, body: body.body };
  comments.set(key, [...(comments.get(key) ?? []), comment]);
  return { status: 201, content: comment };
}

/** A small page, so that a handler that reads only the first one is found out. */
function page(url, items) {
  const number = Number(url.searchParams.get("page") ?? 1);
  const more = items.length > number * PAGE;
  const next = new URL(url);
  next.host = `127.0.0.1:${server.address().port}`;
  next.searchParams.set("page", String(number + 1));
  return {
    status: 200,
    content: items.slice((number - 1) * PAGE, number * PAGE),
    headers: more ? { link: `<${next.pathname}${next.search}>; rel="next"` } : {},
  };
}

async function control(path, body) {
  if (path === "repository") {
    repositories.set(body.name, { commits: body.commits });
    for (const place of comments.keys()) if (place.startsWith(`${body.name}#`)) comments.delete(place);
  }
  if (path === "faults") faults = body;
  if (path === "webhook") return send(body);
  const seen = calls;
  if (path === "calls") calls = [];
  return { comments: Object.fromEntries(comments), calls: seen };
}

/** Delivers an event as GitHub does. @returns the status of the answer */
async function send({ url, secret, event, delivery, payload }) {
  const text = JSON.stringify(payload);
  const headers = {
    "content-type": "application/json",
    "user-agent": "GitHub-Hookshot/stand-in",
    "x-github-event": event,
    "x-github-delivery": delivery,
    "x-hub-signature-256": `sha256=${createHmac("sha256", secret).update(text).digest("hex")}`,
  };
  const response = await fetch(url, { method: "POST", headers, body: text });
  await response.text();
  return { status: response.status };
}

server.listen(Number(PORT), () => console.log(server.address().port));
