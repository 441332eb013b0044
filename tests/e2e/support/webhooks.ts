import assert from "node:assert/strict";
import type { JsonObject } from "../../../runtime/base/objects";
import { session } from "./hooks";
import { kubectl } from "./kubectl";
import { tell, waitFor } from "./progress";
import { nodePod } from "./reach";

/** Webhooks of releases as the example outside-event takes them, and what must become of them. Ids are as on the objects. */
export interface Plan {
  /** The bodies that are sent in each round. */
  readonly rounds: readonly (readonly JsonObject[])[];
  /** What the spec of the object of an id may be: of two that contradict each other, whichever comes first. */
  readonly objects: ReadonlyMap<string, readonly JsonObject[]>;
  /** Ids of which no object can be made. */
  readonly refused: ReadonlySet<string>;
  readonly contradicted: ReadonlySet<string>;
}

const REPOSITORY = "example/shop";
/** How many rounds later an event is sent again. */
const LATER = 3;

/**
 * The given number of different events in the given number of rounds. Of a hundred, some twenty are sent twice, at once or rounds
 * later; four are poison, four do not count, and two come with two contents.
 */
export function planWebhooks(count: number, rounds: number): Plan {
  const plan = {
    rounds: Array.from({ length: rounds }, (): JsonObject[] => []),
    objects: new Map<string, readonly JsonObject[]>(),
    refused: new Set<string>(),
    contradicted: new Set<string>(),
  };
  for (let index = 0; index < count; index++) {
    const version = `1.0.${index}`;
    const id = `${REPOSITORY}/${version}`;
    const round = Math.floor((index * rounds) / count);
    const isPoison = index % 25 === 7;
    const isOther = index % 25 === 13;
    // The CRD wants a text.
    const notes = isPoison ? { no: "text" } : `notes ${index}`;
    const body = { event: isOther ? "edited" : "published", repository: REPOSITORY, version, notes };
    const bodies: JsonObject[] = [body];
    if (index % 50 === 21) bodies.push({ ...body, notes: `other notes ${index}` });
    if (index % 10 === 3 || index % 50 === 7) bodies.push(body);
    plan.rounds[round]?.push(...bodies);
    if (index % 10 === 6 || index % 50 === 32) plan.rounds[Math.min(round + LATER, rounds - 1)]?.push(body);
    if (index % 50 === 21) plan.contradicted.add(id);
    if (isPoison) plan.refused.add(id);
    else if (!isOther) {
      const specs = bodies.map(
        ({ repository, version, notes }) => ({ repository, version, notes }) as JsonObject,
      );
      plan.objects.set(id, specs);
    }
  }
  return plan;
}

/** Sends each body until it is answered 2xx, at most `tries` times, four at a time, unhurriedly. Prints the count of each answer. */
const SENDER = `
const [url, token, text, tries] = process.argv.slice(1);
const bodies = JSON.parse(text);
const answers = {};
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const send = async (body) => {
  const headers = { authorization: "Bearer " + token, "content-type": "application/json" };
  const padded = body.padding ? { ...body, padding: "x".repeat(body.padding) } : body;
  // With AbortSignal.timeout a request to a killed pod was once not ended. A timer of our own also keeps its controller.
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), 10000);
  const options = { method: "POST", headers, body: JSON.stringify(padded), signal: late.signal };
  const status = await fetch(url, options).then((answer) => answer.text().then(() => answer.status)).catch(() => "none");
  clearTimeout(timer);
  if (!answers[status]) console.log("answered " + status);
  answers[status] = (answers[status] ?? 0) + 1;
  return status >= 200 && status < 300;
};
const work = async () => {
  for (let body = bodies.shift(); body; body = bodies.shift()) {
    for (let time = 1; !(await send(body)) && time < Number(tries); time++) await pause(500);
    await pause(300);
  }
};
Promise.all([1, 2, 3, 4].map(work)).then(() => console.log(JSON.stringify(answers)));
`;

/** Ten minutes of refusals, and more than an hour without any answer. */
const MOST_TRIES = 1_000;

let senders = 0;

/** A pod that sends webhooks. */
export interface Sender {
  /** Asserts that it was answered so at least once. */
  readonly isAnswered: (status: number) => Promise<void>;
  /** Until each is acknowledged, or was sent for the last time. Gives how often there was which answer: `{ "200": 110, "500": 3, none: 1 }`. */
  readonly ended: () => Promise<Readonly<Record<string, number>>>;
}

/**
 * Starts it, and waits until it is at work. In a body with `padding: 1000`, the field becomes a text of that many characters.
 * @param tries how often each is sent at most
 */
export async function startSender(
  url: string,
  token: string,
  bodies: readonly JsonObject[],
  { tries = MOST_TRIES } = {},
): Promise<Sender> {
  const { api, team } = session();
  const args = [url, token, JSON.stringify(bodies), String(tries)];
  const pod = nodePod({ namespace: team }, [SENDER, ...args], `sender-${++senders}`);
  await api.create(pod);
  const phase = async () => ((await api.get(pod))["status"] as { phase?: string }).phase;
  const name = pod.metadata.name;
  await waitFor(
    `${name} to begin`,
    async () => assert.match((await phase()) ?? "", /Running|Succeeded/),
    300_000,
  );
  const log = () => kubectl("logs", "--namespace", team, name);
  return {
    isAnswered: async (status) => assert.match(await log(), new RegExp(`answered ${status}`)),
    ended: async () => {
      await waitFor(`${name} to end`, async () => assert.equal(await phase(), "Succeeded"), 900_000);
      const answers = JSON.parse((await log()).trim().split("\n").at(-1) ?? "");
      tell(`${bodies.length} webhooks, answered ${JSON.stringify(answers)}`);
      await api.delete(pod);
      return answers;
    },
  };
}
