import assert from "node:assert/strict";
import { type Registration, type Run, roleOf, run } from "./support/program";
import { EVERY_FORM, operatorsProgram, type SampleProgram, sampleProgram } from "./support/sampleOperators";

/** In this order Pulumi creates; in the opposite one it deletes. */
describe("the order of the program", () => {
  let sample: SampleProgram;
  let made: Run;
  before(async () => {
    sample = sampleProgram(EVERY_FORM);
    made = await run(operatorsProgram(sample, { data: "protect", guards: { children: true } }));
  });

  const named = (name: string): Registration => {
    const found = made.registrations.find((each) => roleOf(each.name) === name && each.custom);
    assert.ok(found, `${name} is not registered`);
    return found;
  };

  /** Whether one waits for the other, directly or by what it waits for; a child waits for what its parent does. */
  function comesAfter(later: Registration, earlier: Registration): boolean {
    const byUrn = new Map(made.registrations.map((each) => [each.urn, each]));
    const seen = new Set<string>();
    const queue = [later.urn];
    for (let urn = queue.pop(); urn !== undefined; urn = queue.pop()) {
      if (urn === earlier.urn) return true;
      const registration = byUrn.get(urn);
      if (seen.has(urn) || !registration) continue;
      seen.add(urn);
      queue.push(...registration.dependencies, registration.parent);
    }
    return false;
  }

  const chains: readonly (readonly string[])[] = [
    [
      "argosy-platform-namespace-controllers",
      "argosy-platform-argo-events-controller",
      "argosy-event-bus",
      "argosy-sensor",
      "argosy-event-source",
    ],
    ["argosy-event-source", "argosy-gears.shop.example.com"],
    ["argosy-event-source", "argosy-presss.shop.example.com"],
    ["argosy-gear-runner-account", "argosy-gear-runner", "argosy-gears.shop.example.com"],
    ["argosy-gear-runner-role-binding", "argosy-gear-runner"],
    ["argosy-gear-service", "argosy-gear-runner", "argosy-gears.shop.example.com"],
    ["argosy-gear-handler-files", "argosy-gear-runner"],
    // A guard exists before there is anything to guard, and as long as there is.
    ["argosy-gear-children-guard", "argosy-gears.shop.example.com"],
    ["argosy-gear-children-guard-binding", "argosy-gears.shop.example.com"],
    ["argosy-engine", "argosy-gear-runner"],
    ["argosy-press-template", "argosy-press-runner", "argosy-presss.shop.example.com"],
    ["argosy-engine", "argosy-press-template"],
    ["argosy-engine", "argosy-keeper", "argosy-presss.shop.example.com"],
    ["argosy-keeper-role-binding.argosy", "argosy-keeper"],
    ["argosy-event-source", "argosy-keeper"],
    ["argosy-platform-argo-events-crd-eventbus", "argosy-platform-argo-events-controller"],
    [
      "argosy-platform-argo-workflows-crd-workflowtemplates",
      "argosy-platform-argo-workflows-controller",
      "argosy-gear-template",
    ],
    ["argosy-platform-argo-workflows-controller", "argosy-press-template"],
  ];
  for (const chain of chains) {
    it(chain.join(", then "), () => {
      for (const [index, name] of chain.slice(1).entries()) {
        const earlier = chain[index] ?? "";
        assert.ok(comesAfter(named(name), named(earlier)), `${name} does not wait for ${earlier}`);
        assert.ok(!comesAfter(named(earlier), named(name)), `${earlier} waits for ${name}`);
      }
    });
  }

  it("deletes a program of which there must not be two before it makes another, as in another namespace", () => {
    const deployments = made.registrations.filter(({ inputs }) => inputs.kind === "Deployment");
    const first = deployments.filter(({ deleteBeforeReplace }) => deleteBeforeReplace);
    assert.deepEqual(first.map(({ name }) => name).sort(), [
      "argosy-gear-runner",
      "argosy-keeper",
      "argosy-platform-argo-events-controller",
      "argosy-platform-argo-workflows-controller",
      "argosy-press-runner",
      "argosy-robot-runner",
      "argosy-saw-runner",
    ]);
    assert.ok(first.length < deployments.length);
  });

  it("waits for the deletion of a CRD until its objects can be finalized, whoever asks the handler", () => {
    const timeouts = ["gear", "press"].map((name) => named(`argosy-${name}s.shop.example.com`).deleteTimeout);
    assert.deepEqual(timeouts, ["600s", "600s"]);
  });
});
