import assert from "node:assert/strict";
import { BUILT_IN_KINDS, isNamespaced, pluralOf } from "../../runtime/base/kinds";

/** What a real API server offers, from api/discovery of kubernetes/kubernetes v1.34.1: the kinds to be listed. */
const DISCOVERED = `
  core namespaced: configmaps endpoints events limitranges persistentvolumeclaims pods podtemplates replicationcontrollers resourcequotas secrets serviceaccounts services
  core cluster: componentstatuses namespaces nodes persistentvolumes
  admissionregistration.k8s.io cluster: mutatingadmissionpolicies mutatingadmissionpolicybindings mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations
  apiextensions.k8s.io cluster: customresourcedefinitions
  apiregistration.k8s.io cluster: apiservices
  apps namespaced: controllerrevisions daemonsets deployments replicasets statefulsets
  autoscaling namespaced: horizontalpodautoscalers
  batch namespaced: cronjobs jobs
  certificates.k8s.io namespaced: podcertificaterequests
  certificates.k8s.io cluster: certificatesigningrequests clustertrustbundles
  coordination.k8s.io namespaced: leasecandidates leases
  discovery.k8s.io namespaced: endpointslices
  events.k8s.io namespaced: events
  flowcontrol.apiserver.k8s.io cluster: flowschemas prioritylevelconfigurations
  internal.apiserver.k8s.io cluster: storageversions
  networking.k8s.io namespaced: ingresses networkpolicies
  networking.k8s.io cluster: ingressclasses ipaddresses servicecidrs
  node.k8s.io cluster: runtimeclasses
  policy namespaced: poddisruptionbudgets
  rbac.authorization.k8s.io namespaced: rolebindings roles
  rbac.authorization.k8s.io cluster: clusterrolebindings clusterroles
  resource.k8s.io namespaced: resourceclaims resourceclaimtemplates
  resource.k8s.io cluster: deviceclasses devicetaintrules resourceslices
  scheduling.k8s.io cluster: priorityclasses
  storage.k8s.io namespaced: csistoragecapacities
  storage.k8s.io cluster: csidrivers csinodes storageclasses volumeattachments volumeattributesclasses
  storagemigration.k8s.io cluster: storageversionmigrations
`;

describe("kinds", () => {
  const apiVersionOf = (group: string) => (group === "" ? "v1" : `${group}/v1`);
  const all = Object.entries(BUILT_IN_KINDS).flatMap(([group, { namespaced = [], cluster = [] }]) => [
    ...namespaced.map((kind) => ({ group, kind, namespaced: true })),
    ...cluster.map((kind) => ({ group, kind, namespaced: false })),
  ]);

  it("has the plurals and scopes that the API server has, and no others", () => {
    const lines = new Map<string, string[]>();
    for (const { group, kind, namespaced } of all) {
      const key = `${group || "core"} ${namespaced ? "namespaced" : "cluster"}`;
      lines.set(key, [...(lines.get(key) ?? []), pluralOf(apiVersionOf(group), kind)]);
    }
    const table = [...lines].map(([key, plurals]) => `${key}: ${plurals.sort().join(" ")}`).sort();
    const discovered = DISCOVERED.trim()
      .split("\n")
      .map((line) => line.trim());
    assert.deepStrictEqual(table, discovered.sort());
  });

  it("knows the scope of built-in kinds in any version, and of no others", () => {
    assert.equal(isNamespaced("apps/v1beta2", "Deployment"), true);
    assert.equal(isNamespaced("v1", "Namespace"), false);
    assert.equal(isNamespaced("v1", "Deployment"), undefined);
    assert.equal(isNamespaced("example.com/v1", "Namespace"), undefined);
  });

  const plurals: [string, string][] = [
    ["Memcached", "memcacheds"],
    ["Redis", "redises"],
    ["Proxy", "proxies"],
    ["Gateway", "gateways"],
    ["Mailbox", "mailboxes"],
    ["Branch", "branches"],
    ["Mesh", "meshes"],
    // A kind of this name that is not the core group's is regular.
    ["Endpoints", "endpointses"],
  ];
  for (const [kind, plural] of plurals) {
    it(`makes ${plural} of ${kind}`, () => assert.equal(pluralOf("example.com/v1", kind), plural));
  }
});
