import { reportOn } from "../../../definition/definitionFile";
import { Problems } from "../../../definition/problems";
import type { Manifest } from "../../../runtime/program";
import { buildEventPathAccounts } from "../eventPath/accounts";
import { MAX_SPECIFICATION_BYTES, specificationBytes } from "../eventPath/eventSource";
import type { ManifestSet } from "../metadata";
import { buildCallerAccount, buildIntake } from "./intake";
import type { OperatorOutsideEvent, OutsideOptions } from "./options";
import { buildOutsideEventBus, buildOutsideEventSources, buildOutsideSensor } from "./path";

/** Every manifest of the parts that make custom resources of events from outside. */
export interface OutsideManifests {
  readonly intake: ManifestSet;
  readonly accounts: ManifestSet;
  readonly eventBus: Manifest;
  readonly sensor: Manifest;
  readonly eventSources: ManifestSet;
}

/**
 * Builds all parts for these events.
 *
 * @param engine the ConfigMap of the engine, for the intake
 * @throws OperatorError if there are more events than one Sensor can carry
 * @throws TransformError if the program's transform does something that it may not
 */
export function buildOutside(
  events: readonly OperatorOutsideEvent[],
  options: OutsideOptions,
  engine: Manifest,
): OutsideManifests {
  const sensor = buildOutsideSensor(events, options);
  const eventSources = buildOutsideEventSources(events, options);
  checkSizes([sensor, ...Object.values(eventSources)], events);
  return {
    intake: buildIntake(events, options, engine),
    // Without operators whose objects are watched, none of these accounts has any right.
    accounts: { ...buildEventPathAccounts([], options), ...buildCallerAccount(options) },
    eventBus: buildOutsideEventBus(options),
    sensor,
    eventSources,
  };
}

/** The specifications must fit into the environment of Argo's pods: see MAX_SPECIFICATION_BYTES. */
function checkSizes(manifests: readonly Manifest[], events: readonly OperatorOutsideEvent[]): void {
  const [last] = events.slice(-1);
  if (!last || manifests.every((manifest) => specificationBytes(manifest) <= MAX_SPECIFICATION_BYTES)) return;
  const problems = new Problems();
  const complaint = `is the last of ${events.length} events of the operators, and one Sensor can carry fewer`;
  const remedy = "Remove some events, or give some operators an installation of their own.";
  reportOn(last.operator, problems)(`on.${last.event.name}`, complaint, remedy);
  throw problems.toError();
}
