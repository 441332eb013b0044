import assert from "node:assert/strict";
import { checkNamespaces } from "../../preflight/checkNamespaces";
import type { Found } from "../../preflight/lookInCluster";
import { fakeLook, found } from "./support/fakeLook";

describe("the namespaces that operators name", () => {
  const PRESS = "handlers/press/operator.yaml";
  const namespaces = [
    { namespace: "team-a", place: PRESS },
    { namespace: "team-b", place: PRESS },
    { namespace: "team-b", place: "overrides.robot" },
  ];
  const check = (inCluster: Record<string, Found>) =>
    checkNamespaces(fakeLook({ namespaces: inCluster }), namespaces);

  it("cause one warning if they are missing, with the places that name each, and no refusal", async () => {
    const { problems, warnings } = await check({ "team-a": "absent", "team-b": "absent" });
    assert.deepEqual(problems, []);
    assert.equal(warnings?.length, 1);
    assert.match(
      warnings?.[0] ?? "",
      /^these namespaces are not in the cluster: team-a \(handlers\/press\/operator\.yaml\), team-b \(handlers\/press\/operator\.yaml, overrides\.robot\)\. .*dependsOn of this component\.$/,
    );
  });

  it("cause no warning if they exist, or if the cluster does not show them", async () => {
    const { warnings } = await check({ "team-a": found(), "team-b": "absent" });
    assert.match(warnings?.[0] ?? "", /not in the cluster: team-b \(/);
    const quiet = [check({ "team-a": found(), "team-b": found() }), check({})];
    for (const findings of await Promise.all(quiet)) assert.deepEqual(findings.warnings ?? [], []);
  });
});
