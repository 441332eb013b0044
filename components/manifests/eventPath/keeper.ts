import { type Manifest, type PolicyRule, RUNNER_ENVIRONMENT } from "../../../runtime/program";
import { buildAccount, buildGrant } from "../access";
import { buildEngineDeployment } from "../engineDeployment";
import { labelsOf, type ManifestSet } from "../metadata";
import { eventPathNames } from "../names";
import { accountAnnotations } from "../pods";
import type { AccountOptions } from "./accounts";
import type { EventPathOptions } from "./options";

/**
 * The rights to see when the pods of the event path began, and to restart one. An eviction is the smallest such right: it changes
 * no specification, and it respects the budgets of runners. RBAC cannot name future pods.
 */
const RULES: readonly PolicyRule[] = [
  { apiGroups: [""], resources: ["pods"], verbs: ["list"] },
  { apiGroups: [""], resources: ["pods/eviction"], verbs: ["create"] },
  { apiGroups: ["events.k8s.io"], resources: ["events"], verbs: ["create", "patch"] },
];

/**
 * The event path's keeper: the engine, with the command to replace sensors and event sources whose bus began after them. Argo's
 * own controllers have no remedy for that, and give these pods no probes.
 *
 * @param engine the ConfigMap of the engine
 */
export function buildKeeper(options: EventPathOptions, engine: Pick<Manifest, "metadata">): ManifestSet {
  const { namespace } = options.platform;
  const { name, labels } = identityOf(options);
  return {
    ...buildKeeperAccess(options),
    keeper: buildEngineDeployment(
      {
        part: "keeper",
        command: "keep",
        name,
        namespace,
        labels,
        strategy: "Recreate",
        env: [{ name: RUNNER_ENVIRONMENT.eventPath, value: options.name }],
      },
      options,
      engine,
    ),
  };
}

/** The keeper's service account, and its rights. */
export function buildKeeperAccess(options: AccountOptions): ManifestSet {
  const { namespace } = options.platform;
  const { name, labels } = identityOf(options);
  return {
    "keeper-account": buildAccount(name, namespace, labels, accountAnnotations("keeper", options)),
    ...buildGrant("keeper", { name, namespace, labels, rules: RULES, account: { name, namespace } }),
  };
}

function identityOf({ name }: AccountOptions) {
  return { name: eventPathNames(name).keeper, labels: labelsOf(name, "keeper") };
}
