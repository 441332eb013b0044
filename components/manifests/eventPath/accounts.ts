import type { Operator, PolicyRule } from "../../../runtime/program";
import { buildAccount, buildGrant } from "../access";
import type { ServiceAccount } from "../kinds";
import { labelsOf, type ManifestSet } from "../metadata";
import { eventPathNames } from "../names";
import type { Platform } from "../platform/options";
import { accountAnnotations, type PodPart, type PodsOptions } from "../pods";
import type { EventPathOptions } from "./options";

/** The options of the event path's accounts. */
export interface AccountOptions extends Pick<EventPathOptions, "name">, PodsOptions {
  readonly platform: Pick<Platform, "namespace">;
}

/**
 * The service accounts of the event path, and their rights. The sources may list and watch the operators' custom resources in the
 * namespaces that each operator looks after, and nothing else. The sensors have no rights. With one replica each elects its leader by the bus, without leases (argo-events,
 * pkg/shared/leaderelection/leaderelection.go, NewElector). The bus does not use the Kubernetes API and gets no token. Source and
 * sensor do not start without a token (pkg/shared/util/util.go, GetClientConfig).
 */
export function buildEventPathAccounts(operators: readonly Operator[], options: AccountOptions): ManifestSet {
  const names = eventPathNames(options.name);
  const everywhere = operators.filter(({ namespaces }) => namespaces === "all");
  const listed = new Set(operators.flatMap(({ namespaces }) => (namespaces === "all" ? [] : namespaces)));
  const source = {
    part: "eventSource",
    account: names.sourceAccount,
    component: "event-source",
    options,
  } as const;
  const sensor = { part: "sensor", account: names.sensorAccount, component: "sensor", options } as const;
  return {
    "bus-account": {
      ...serviceAccount({
        part: "eventBus",
        account: names.eventBusAccount,
        component: "event-bus",
        options,
      }),
      automountServiceAccountToken: false,
    },
    "source-account": serviceAccount(source),
    ...(everywhere.length > 0 && grant("source", source, undefined, everywhere.map(watchRule))),
    ...Object.assign(
      {},
      ...[...listed].map((namespace) => {
        const here = operators.filter(
          ({ namespaces }) => namespaces !== "all" && namespaces.includes(namespace),
        );
        return grant("source", source, namespace, here.map(watchRule));
      }),
    ),
    "sensor-account": serviceAccount(sensor),
  };
}

/** An account, and its rights. */
interface Grantee {
  readonly part: PodPart;
  readonly account: string;
  readonly component: string;
  readonly options: AccountOptions;
}

function watchRule({ customResource: { group, plural } }: Operator): PolicyRule {
  return { apiGroups: [group], resources: [plural], verbs: ["list", "watch"] };
}

function serviceAccount({ part, account, component, options }: Grantee): ServiceAccount {
  const labels = labelsOf(options.name, component);
  return buildAccount(account, options.platform.namespace, labels, accountAnnotations(part, options));
}

/** A role with these rules, bound to the account: in a namespace, or in the whole cluster if none is given. */
function grant(
  key: string,
  { account, component, options: { name, platform } }: Grantee,
  namespace: string | undefined,
  rules: readonly PolicyRule[],
): ManifestSet {
  // Outside of the operators' namespace another program may have an event path of this name.
  const isHome = namespace === platform.namespace;
  return buildGrant(key, {
    name: isHome ? account : `${platform.namespace}.${account}`,
    namespace,
    labels: labelsOf(name, component),
    rules,
    account: { name: account, namespace: platform.namespace },
  });
}
