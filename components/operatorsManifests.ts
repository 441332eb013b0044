// Its manifests, by the components that register them.
import { identityOf, OPERATOR_LABEL, type Operator } from "../runtime/program";
import { engineFiles } from "./engineBundle";
import { thisProgram } from "./inCluster/thisRun";
import { buildEventPath } from "./manifests/eventPath/eventPath";
import { buildInstallation, madeBy } from "./manifests/installation";
import { buildEngineFiles, buildFiles } from "./manifests/operator/configMaps";
import { buildOperator, type OperatorManifests } from "./manifests/operator/operator";
import { type OutsideOptions, outsideEventsOf, outsideOptions } from "./manifests/outside/options";
import { buildOutside } from "./manifests/outside/outside";
import { buildMemoryDefinition } from "./manifests/platform/memories";
import type { OperatorsPlan } from "./operatorsPlan";
import { ARGOSY_VERSION } from "./package";

/** The manifests of `Operators`, by the components that register them. */
export type OperatorsManifests = ReturnType<typeof buildOperators>;

/** All manifests of the operators. Each manifest is built once, because a program's transform may have effects of its own. */
export function buildOperators(plan: OperatorsPlan) {
  const { installation, operators, platform } = plan;
  const events = outsideEventsOf(operators);
  const options = { ...plan, eventPathName: installation, argosyVersion: ARGOSY_VERSION };
  const engine = buildEngineFiles(installation, platform.namespace, { ...engineFiles() });
  // Changes of objects that are not ours never use the event bus: the operators watch these objects themselves.
  const hinted = operators.filter(({ watch }) => !watch);
  const hasEventPath = platform.argoEvents && hinted.length > 0;
  return {
    installation: buildInstallation(installation, thisProgram()),
    engine,
    eventPath: hasEventPath ? buildEventPath(hinted, { ...plan, name: installation }, engine) : undefined,
    outside: events.length > 0 ? buildOutside(events, outsideOptionsOf(plan), engine) : undefined,
    memories: buildMemoryDefinition(operators),
    operators: operators.map((operator) => ({
      operator,
      manifests: marked(operator, buildOperator(operator, options, buildFiles(operator, options, engine))),
    })),
  };
}

/** The operators' own CRDs. An operator with `watch` has none. */
export function crdsOf({ operators }: OperatorsManifests) {
  return operators.flatMap(({ operator, manifests: { crd } }) => (crd ? [{ operator, crd }] : []));
}

/** A cluster has only one CRD of a name: it says which program made it, and for which operator. */
function marked(operator: Operator, { crd, ...others }: OperatorManifests): OperatorManifests {
  if (!crd) return { ...others, crd };
  const { metadata } = madeBy(thisProgram(), crd);
  const labels = { ...metadata.labels, [OPERATOR_LABEL]: identityOf(operator) };
  return { ...others, crd: { ...crd, metadata: { ...metadata, labels } } };
}

function outsideOptionsOf(plan: OperatorsPlan): OutsideOptions {
  const { intakes, ...eventBus } = plan.outsideEvents;
  return outsideOptions({ ...plan, eventBus, intakes });
}
