import assert from "node:assert/strict";
import { buildEventPathAccounts } from "../../components/manifests/eventPath/accounts";
import type { Operator } from "../../runtime/operator/definition";
import { operator } from "./support/objects";
import { samplePlatform } from "./support/platform";

const accountsOf = (...operators: Operator[]) =>
  buildEventPathAccounts(operators, {
    name: "argosy",
    platform: samplePlatform({ namespace: "operators", instanceId: "", jetStreamVersion: "2.10.29" }),
    placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
  });

const titlesOf = (...operators: Operator[]) =>
  Object.entries(accountsOf(...operators)).map(
    ([
      key,
      {
        kind,
        metadata: { namespace, name },
      },
    ]) => `${key}: ${kind} ${namespace ?? "-"} ${name}`,
  );

const kindOf = (group: string) => ({ ...operator().customResource, group });
const EVERYWHERE = operator({ name: "everywhere", customResource: kindOf("everywhere.example.com") });
const LISTED = operator({
  name: "listed",
  namespaces: ["team-a", "team-b"],
  customResource: kindOf("listed.example.com"),
});
const ALSO_LISTED = operator({
  name: "also-listed",
  namespaces: ["team-b"],
  customResource: kindOf("also.example.com"),
});

const ACCOUNTS = [
  "bus-account: ServiceAccount operators argosy-event-bus",
  "source-account: ServiceAccount operators argosy-event-source",
];
const SENSOR = "sensor-account: ServiceAccount operators argosy-sensor";

describe("buildEventPathAccounts", () => {
  it("lets sources look in the whole cluster for operators that look after all of it", () => {
    assert.deepEqual(titlesOf(EVERYWHERE), [
      ...ACCOUNTS,
      "source-role: ClusterRole - operators.argosy-event-source",
      "source-role-binding: ClusterRoleBinding - operators.argosy-event-source",
      SENSOR,
    ]);
  });

  it("lets them look in the listed namespaces alone for all others", () => {
    assert.deepEqual(titlesOf(LISTED, ALSO_LISTED), [
      ...ACCOUNTS,
      "source-role.team-a: Role team-a operators.argosy-event-source",
      "source-role-binding.team-a: RoleBinding team-a operators.argosy-event-source",
      "source-role.team-b: Role team-b operators.argosy-event-source",
      "source-role-binding.team-b: RoleBinding team-b operators.argosy-event-source",
      SENSOR,
    ]);
  });

  it("gives in each place exactly the custom resources that are watched there", () => {
    const accounts = accountsOf(EVERYWHERE, LISTED, ALSO_LISTED);
    const watched = (group: string) => ({
      apiGroups: [group],
      resources: ["widgets"],
      verbs: ["list", "watch"],
    });
    assert.deepEqual(accounts["source-role"]?.rules, [watched("everywhere.example.com")]);
    assert.deepEqual(accounts["source-role.team-a"]?.rules, [watched("listed.example.com")]);
    assert.deepEqual(accounts["source-role.team-b"]?.rules, [
      watched("listed.example.com"),
      watched("also.example.com"),
    ]);
  });

  it("gives the sensors no right, whatever the operators are like", () => {
    const set = accountsOf(EVERYWHERE, operator({ name: "heavy", execution: "pod" }));
    assert.deepEqual(
      Object.keys(set).filter((key) => key.startsWith("sensor-")),
      ["sensor-account"],
    );
  });

  it("binds across namespaces to the account where the sources run", () => {
    assert.deepEqual(accountsOf(LISTED)["source-role-binding.team-a"]?.subjects, [
      { kind: "ServiceAccount", name: "argosy-event-source", namespace: "operators" },
    ]);
  });

  it("gives the bus no token", () => {
    assert.equal(accountsOf(EVERYWHERE)["bus-account"]?.automountServiceAccountToken, false);
  });
});
