import assert from "node:assert/strict";
import type { JsonObject } from "../../runtime/base/objects";
import type { Handler } from "../../tools/chaos/kills/scenarios";
import { answerOf, SCENARIOS } from "../../tools/chaos/kills/scenarios";
import { killable, runScenario } from "./support/net/runScenario";
import { withoutHistory } from "./support/net/withoutHistory";

/** The next version of the handler: it answers other content, one child less and one more, and another status. */
const renewed: Handler = (question) => {
  const answer = answerOf(question);
  if (!Array.isArray(answer["children"])) return answer;
  const children = (answer["children"] as JsonObject[]).map((child) =>
    child["data"] ? { ...child, data: { ...(child["data"] as JsonObject), by: "new" } } : child,
  );
  const others = children.length > 1 ? children.slice(0, -1) : children;
  const extra = { apiVersion: "v1", kind: "Secret", metadata: { name: "extra" }, data: { k: "dg==" } };
  const status = question.object.kind === "Thing" && { status: { by: "new" } };
  return { ...answer, children: [...others, extra], ...status };
};

describe("the next process has another handler:", () => {
  // What a child that is not created again has for its content, and the state of a watched object, are of the time of the old one.
  for (const scenario of SCENARIOS.filter(({ remembers }) => !remembers)) {
    it(scenario.name, async () => {
      const { writes } = await runScenario(scenario);
      const fresh = await runScenario(scenario, { handler: renewed });
      for (const write of killable(writes)) {
        const { end } = await runScenario(scenario, {
          fateOf: (name) => (name === write ? "lost" : undefined),
          nextHandler: renewed,
        });
        assert.deepEqual(withoutHistory(end), withoutHistory(fresh.end), write);
      }
    });
  }
});
