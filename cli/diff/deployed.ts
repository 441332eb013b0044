import { isDeepStrictEqual } from "node:util";
import { isSecretKind } from "../../runtime/base/kinds";
import { DEFAULT_INSTALLATION } from "../../runtime/base/names";
import type { Operator } from "../../runtime/cli";
import { UsageError } from "../common/commandError";
import { DEFAULT_HOME, unreadableError } from "../inspect/installed";
import type { InstalledOperator, InstalledOperators } from "../inspect/readInstalled";

/** An operator of the working tree, as the cluster knows it. */
export interface DeployedOperator {
  readonly operator: Operator;
  /** The namespace of its runner. */
  readonly home: string;
  /** What the deployed operator uses of Secrets, and this one does not. Its children may have values of them. @default nothing */
  readonly usedSecrets?: Operator["uses"];
  /** Notes for the user, in sentences. */
  readonly notes: readonly string[];
}

/**
 * Gives an operator of the working tree the installation and the namespaces of the deployed one, because a program sets these
 * instead of the definition.
 *
 * @param installation which of several installations is meant
 * @throws UsageError if several installations have the operator and none is named, or if the named one does not have it;
 *   CommandError if the definition of the deployed one cannot be read
 */
export function asDeployed(
  operator: Operator,
  { operators, unreadable, unseen }: InstalledOperators,
  installation?: string,
): DeployedOperator {
  const { name } = operator;
  const same = sameOperators(operator, operators);
  const found = installation === undefined ? same : same.filter((each) => each.installation === installation);
  const [deployed, another] = found;
  const unread = unreadable.find((each) => each.name === name);
  if (unread && (!deployed || installation === undefined)) throw unreadableError(unread);
  if (another) {
    const names = found.map((each) => each.installation).join(", ");
    throw new UsageError(`${name} is deployed more than once. Name one with --installation: ${names}.`);
  }
  if (!deployed) {
    if (installation !== undefined && same.length > 0) {
      const names = same.map((each) => each.installation).join(", ");
      throw new UsageError(
        `${name} is not deployed in installation ${installation}. Known installations: ${names}.`,
      );
    }
    const identity = { installation: installation ?? DEFAULT_INSTALLATION };
    const isDeployed = unseen
      ? `whether it is deployed to this cluster is not known, because ${unseen}`
      : "it is not deployed to this cluster";
    const note = `${name}: ${isDeployed}. Argosy assumes that argosy dev made its objects.`;
    return { operator: { ...operator, ...identity }, home: DEFAULT_HOME, notes: [note] };
  }
  const given = deployed as InstalledOperator & Partial<Pick<Operator, "env" | "uses">>;
  const { namespaces, home, env = {}, uses = {} } = given;
  const usedSecrets = Object.entries(uses).filter(
    ([key, use]) => isSecretKind(use) && !isDeepStrictEqual(use, operator.uses[key]),
  );
  const others = [...new Set([...Object.keys(env), ...Object.keys(operator.env)])].filter(
    (key) => env[key] !== operator.env[key],
  );
  const note = `${name}: the deployed operator has other values of ${others.map((key) => `env.${key}`).join(", ")}. Those of the working tree are used.`;
  return {
    operator: { ...operator, installation: deployed.installation, namespaces },
    home,
    usedSecrets: Object.fromEntries(usedSecrets),
    notes: others.length > 0 ? [note] : [],
  };
}

/** The deployed operators that have the name and the kind of one of the working tree, one for each installation. */
export function sameOperators(
  { name, customResource: { group, kind } }: Operator,
  operators: readonly InstalledOperator[],
): InstalledOperator[] {
  return operators.filter(
    (each) => each.name === name && each.customResource.group === group && each.customResource.kind === kind,
  );
}

/** Why an operator is left out unless it is named: its handler may act, or gets Secrets. Undefined: it is not left out. */
export function whyLeftOut({ rules, secretEnv }: Operator): string | undefined {
  if (rules.length > 0) return "its handler has rules, and may change the cluster";
  if (Object.keys(secretEnv).length > 0) return "its handler gets Secrets by secretEnv";
  return undefined;
}
