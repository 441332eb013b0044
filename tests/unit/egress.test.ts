import assert from "node:assert/strict";
import { BlockList } from "node:net";
import { buildEgressPolicy } from "../../components/manifests/operator/egress";
import { runnerLabels } from "../../components/manifests/operator/runner";
import type { Operator } from "../../runtime/operator/definition";
import { definitionFileContent } from "../../runtime/programs/definitionFile";
import { loadDefinition, problemsOf, widgetCrd, widgetDefinition, writeFolder } from "./operatorFolder";
import { operatorOptions } from "./operatorManifests";
import { assertEach } from "./support/lists";
import { run } from "./support/program";
import { operatorsProgram, type Sample, sampleProgram } from "./support/sampleOperators";

const API_SERVER = [{ cidr: "172.20.0.10/32", ports: [6443] }];
const EGRESS = [
  { cidr: "203.0.113.0/24", ports: [443] },
  { namespace: "monitoring", podLabels: { app: "collector" }, ports: [4318] },
];

/** Where a pod may want to connect to: an address outside, or a pod. */
interface Place {
  readonly address?: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly port: number;
  readonly protocol?: string;
}

interface Rule {
  readonly ports: readonly { readonly port: number; readonly protocol: string }[];
  readonly to?: readonly {
    readonly ipBlock?: { readonly cidr: string };
    readonly podSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly namespaceSelector?: { readonly matchLabels: Readonly<Record<string, string>> };
  }[];
}

/** What a network plugin makes of the rules. */
function admits(
  rules: readonly Rule[],
  { address, namespace, labels = {}, port, protocol = "TCP" }: Place,
): boolean {
  return rules.some(
    ({ ports, to }) =>
      ports.some((each) => each.port === port && each.protocol === protocol) &&
      (to === undefined ||
        to.some(({ ipBlock, podSelector, namespaceSelector }) => {
          if (ipBlock) {
            const [network = "", prefix] = ipBlock.cidr.split("/");
            const range = new BlockList();
            range.addSubnet(network, Number(prefix));
            return address !== undefined && range.check(address);
          }
          const wanted = namespaceSelector?.matchLabels["kubernetes.io/metadata.name"] ?? "argosy";
          const selected = Object.entries(podSelector?.matchLabels ?? {});
          return namespace === wanted && selected.every(([key, value]) => labels[key] === value);
        })),
  );
}

describe("egress", function () {
  this.timeout(60_000);
  let root: string;
  beforeEach(() => {
    root = writeFolder({ "crd.yaml": widgetCrd(), "main.py": "" });
  });

  const load = (more: object): Operator =>
    loadDefinition(root, { ...widgetDefinition, name: "widget", ...more });
  const policyOf = (more: object) => {
    const policy = buildEgressPolicy(load(more), operatorOptions({ apiServer: API_SERVER }));
    return (
      policy && (policy.spec as unknown as { podSelector: object; policyTypes: string[]; egress: Rule[] })
    );
  };

  it("limits nothing if it is not given", () => assert.equal(policyOf({}), undefined));

  for (const execution of ["resident", "pod"] as const) {
    it(`lets the pods of a handler reach what it lists, DNS and the API server, and nothing else: ${execution}`, () => {
      const { podSelector, policyTypes, egress } = policyOf({ execution, egress: EGRESS }) ?? assert.fail();
      const component = execution === "pod" ? "run" : "runner";
      assert.deepEqual(podSelector, {
        matchLabels: { ...runnerLabels(load({})), "app.kubernetes.io/component": component },
      });
      assert.deepEqual(policyTypes, ["Egress"]);
      const collector = { namespace: "monitoring", labels: { app: "collector", tier: "x" }, port: 4318 };
      const runner = { namespace: "argosy", labels: runnerLabels(load({})), port: 8080 };
      const places: readonly (readonly [place: Place, isReached: boolean])[] = [
        [{ address: "203.0.113.7", port: 443 }, true],
        [{ address: "203.0.113.7", port: 80 }, false],
        [{ address: "203.0.114.7", port: 443 }, false],
        [{ address: "172.20.0.10", port: 6443 }, true],
        [{ address: "172.20.0.10", port: 10250 }, false],
        [{ address: "169.254.169.254", port: 80 }, false],
        [{ namespace: "kube-system", port: 53, protocol: "UDP" }, true],
        [{ address: "10.0.0.10", port: 53 }, true],
        [collector, true],
        [{ ...collector, labels: {} }, false],
        [{ ...collector, namespace: "argosy" }, false],
        [runner, execution === "resident"],
        [{ ...runner, labels: runnerLabels({ ...load({}), name: "other" }) }, false],
        [{ ...runner, port: 9090 }, false],
      ];
      for (const [place, isReached] of places)
        assert.equal(admits(egress, place), isReached, JSON.stringify(place));
    });
  }

  it("may be an empty list, and all pods of a namespace", () => {
    const none = policyOf({ egress: [] })?.egress ?? [];
    assert.ok(admits(none, { address: "172.20.0.10", port: 6443 }));
    assert.ok(!admits(none, { address: "203.0.113.7", port: 443 }));
    const all = policyOf({ egress: [{ namespace: "shop", ports: [80] }] })?.egress ?? [];
    assert.ok(admits(all, { namespace: "shop", port: 80 }));
  });

  it("rolls out no runner", () => {
    assert.equal(definitionFileContent(load({ egress: EGRESS })), definitionFileContent(load({})));
  });

  const refused: readonly (readonly [destination: unknown, problem: RegExp])[] = [
    [
      { cidr: "api.example.com", ports: [443] },
      /cidr is "api\.example\.com", which is not a range .* cannot name a host\. /,
    ],
    [
      { host: "api.example.com", ports: [443] },
      /host names a host, and .* only addresses and pods\. Write the range/,
    ],
    ["api.example.com", /egress\[0\] .*Write, for example, \{ cidr: 203\.0\.113\.0\/24/],
    [{ cidr: "203.0.113.7", ports: [443] }, /cidr is "203\.0\.113\.7", an address without .*: \/32/],
    [{ cidr: "2001:db8::1", ports: [443] }, /cidr .*an address without .*: \/128/],
    [{ cidr: "203.0.113.0/33", ports: [443] }, /cidr is "203\.0\.113\.0\/33", which is not a range/],
    [{ cidr: "203.0.113.0/24", ports: [] }, /ports is an empty list|ports/],
    [{ cidr: "203.0.113.0/24" }, /ports is missing/],
    [{ ports: [443] }, /egress\[0\] has neither cidr nor namespace\. /],
    [{ cidr: "203.0.113.0/24", namespace: "shop", ports: [443] }, /egress\[0\] has cidr and namespace\. /],
    [
      { cidr: "203.0.113.0/24", podLabels: { a: "b" }, ports: [443] },
      /podLabels is given together with cidr\. /,
    ],
    [{ namespace: "Shop", ports: [443] }, /namespace is "Shop"/],
    [
      { namespace: "shop", podLabels: { app: "a b" }, ports: [443] },
      /podLabels\.app is "a b", which cannot be/,
    ],
    [{ namespace: "shop", podLabels: { "a b": "c" }, ports: [443] }, /podLabels.* not the name of a label/],
    [{ cidr: "fe80::1%eth0/64", ports: [443] }, /cidr .*which is not a range/],
  ];
  for (const [destination, problem] of refused) {
    it(`refuses ${JSON.stringify(destination)}, and says what to write`, () => {
      const problems = problemsOf(root, { ...widgetDefinition, name: "widget", egress: [destination] });
      assert.match(problems.join("\n"), problem);
    });
  }

  it("needs the address of the API server, may differ from stack to stack, and is in the preview", async () => {
    const sample = sampleProgram([{ name: "gear", egress: EGRESS }, { name: "plain" }] as readonly Sample[]);
    await assert.rejects(
      run(operatorsProgram(sample)),
      /the operator gear has "egress", and apiServer is not given.*kubectl -n default get endpointslices/s,
    );
    const { manifests } = await run(operatorsProgram(sample, { apiServer: API_SERVER }));
    const policies = manifests.filter(({ spec }) => JSON.stringify(spec ?? {}).includes('"Egress"'));
    assertEach(policies, ({ kind, metadata }) => [kind, metadata.namespace, metadata.name], [
      ["NetworkPolicy", "argosy", "gear-egress"],
    ]);
  });
});
