import { reportOn } from "../../../definition/definitionFile";
import { Problems } from "../../../definition/problems";
import type { Manifest } from "../../../runtime/program";
import { buildEventPathAccounts } from "../eventPath/accounts";
import { MAX_SPECIFICATION_BYTES, specificationBytes } from "../eventPath/eventSource";
import type { ManifestSet } from "../metadata";
import { buildCallerAccount, buildIntake } from "./intake";
import type { OperatorOutsideEvent, OutsideOptions } from "./options";
import { buildOutsideEventBus, buildOutsideEventSources, buildOutsideSensor } from "./path";

/** Every manifest of what makes custom resources of events from outside. */
export interface OutsideManifests {
  readonly intake: ManifestSet;
  readonly accounts: ManifestSet;
  readonly eventBus: Manifest;
  readonly sensor: Manifest;
  readonly eventSources: ManifestSet;
}

/**
 * Builds all of it for these events.
 *
 * @param engine the ConfigMap of the engine, for the intake
 * @throws OperatorError if there are more events than one Sensor can carry
 * @throws TransformError where the program's transform does what it may not
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
    // Without operators whose objects are watched, none of these accounts has a right to anything.
    accounts: { ...buildEventPathAccounts([], options), ...buildCallerAccount(options) },
    eventBus: buildOutsideEventBus(options),
    sensor,
    eventSources,
  };
}

/** What Argo hands to its pods has to fit into their environment: see MAX_SPECIFICATION_BYTES. */
function checkSizes(manifests: readonly Manifest[], events: readonly OperatorOutsideEvent[]): void {
  const [last] = events.slice(-1);
  if (!last || manifests.every((manifest) => specificationBytes(manifest) <= MAX_SPECIFICATION_BYTES)) return;
  const problems = new Problems();
  const complaint = `makes it ${events.length} events from outside, more than one Sensor's environment can carry`;
  const remedy = "Make it fewer, or give some operators an installation of their own.";
  reportOn(last.operator, problems)(`on.${last.event.name}`, complaint, remedy);
  throw problems.toError();
}
