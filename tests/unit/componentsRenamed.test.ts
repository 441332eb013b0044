import assert from "node:assert/strict";
import type * as pulumi from "@pulumi/pulumi";
import { Operators } from "../../components/operators";
import type { Operator } from "../../runtime/operator/definition";
import { named } from "./support/componentRuns";
import { assertEach } from "./support/lists";
import { type Registration, type Run, run } from "./support/program";
import { EVERY_FORM, type SampleProgram, sampleProgram, webhookFor } from "./support/sampleOperators";

const STACK = "pulumi:pulumi:Stack";

/** Pulumi takes a resource of another name for a new one, and deletes the old one: a CRD with all of its objects. */
describe("the components under another name", function () {
  this.timeout(60_000);
  let sample: SampleProgram;
  let handlers: readonly Operator[];
  let before: Run;
  const make =
    (name: string, opts: pulumi.ComponentResourceOptions = {}, of: readonly Operator[] = handlers) =>
    () =>
      new Operators(
        name,
        {
          handlers: of,
          platform: {
            monitoring: { podMonitor: true, alertRules: true, dashboard: true },
            archive: { host: "db", database: "runs", secret: "archive" },
          },
          guards: { children: true, annotations: { groups: [] } },
          quotas: { press: { pods: 2 } },
          outsideEvents: { storage: "1Gi" },
          cluster: { context: "prod" },
        },
        opts,
      );
  const everything = (name: string, opts?: pulumi.ComponentResourceOptions, of?: readonly Operator[]) =>
    run(make(name, opts, of), { preview: true });

  globalThis.before(async () => {
    const [gear, ...others] = EVERY_FORM;
    sample = sampleProgram([
      { ...gear, name: "gear", on: webhookFor("Gear") },
      ...others,
      { name: "warden", watch: { apiVersion: "v1", kind: "ConfigMap" } },
    ]);
    // The name of its CRD does not begin with its own.
    handlers = renamed(sample.definitions, "robot", { name: "arm" });
    before = await everything("old");
  });

  it("begin the name of each part with that of the component that it is part of: aliases are inherited so", () => {
    const byUrn = new Map(before.registrations.map((each) => [each.urn, each]));
    const others = before.registrations.filter(({ name, parent }) => {
      const whole = byUrn.get(parent);
      return whole && whole.type !== STACK && !name.startsWith(whole.name);
    });
    assertEach(others, ({ type, name }) => `${type} ${name}`, []);
    assert.ok(before.registrations.length > 150);
  });

  it("are known by an alias, with all parts and their provider", async () => {
    const after = await everything("new", { aliases: [{ name: "old" }] });
    assert.deepEqual(unknown(before, after), []);
  });

  it("are known if an operator has another name as well", async () => {
    const cog = renamed(handlers, "gear", { name: "cog", formerNames: ["gear"] });
    const after = await everything("new", { aliases: [{ name: "old" }] }, cog);
    assert.deepEqual(unknown(before, after), []);
  });

  it("are known by the URN of the component, with their provider", async () => {
    const at = "urn:pulumi:test::argosy::shop:index:Shop$";
    const after = await everything("new", { aliases: [`${at}argosy:index:Operators::old`] });
    assert.deepEqual(named(after, "new-cluster").aliases, [`${at}pulumi:providers:kubernetes::old-cluster`]);
  });
});

function renamed(operators: readonly Operator[], name: string, changes: Partial<Operator>): Operator[] {
  return operators.map((operator) => (operator.name === name ? { ...operator, ...changes } : operator));
}

/**
 * What Pulumi would delete after a change of a program: resources that no resource of the new program is known by. Aliases are
 * inherited as in Pulumi's engine (pulumi, pkg/resource/deploy/step_generator.go, inheritedChildAlias).
 */
function unknown(before: Run, after: Run): string[] {
  // The content of an immutable ConfigMap, which may name the operator, makes its name. Nothing is lost with it.
  const kept = before.registrations.filter(({ inputs }) => inputs.immutable !== true);
  const old = new Map(kept.map((each) => [identityOf(each, before), each]));
  const former = new Map<string, Identity>();
  const left = new Set(old.keys());
  for (const each of after.registrations) {
    const parent = after.registrations.find(({ urn }) => urn === each.parent);
    const inherited = parent && former.get(parent.urn);
    const names = [each.name, ...each.aliases].flatMap((name) =>
      inherited && parent && name.startsWith(parent.name)
        ? [name, inherited.name + name.slice(parent.name.length)]
        : [name],
    );
    const known = names.map((name) => text({ ...identity(each, after), name })).find((one) => left.has(one));
    if (known === undefined) continue;
    left.delete(known);
    former.set(each.urn, { ...identity(each, after), name: old.get(known)?.name ?? "" });
  }
  return [...left];
}

/** What Pulumi knows a resource by within a stack: its name, its type, and the types of all that it is part of. */
interface Identity {
  readonly types: string;
  readonly name: string;
}

const text = ({ types, name }: Identity) => `${types} ${name}`;

const identityOf = (registration: Registration, run: Run) => text(identity(registration, run));

function identity({ type, name, parent }: Registration, run: Run): Identity {
  const whole = run.registrations.find(({ urn }) => urn === parent);
  return { types: whole ? `${identity(whole, run).types}$${type}` : type, name };
}
