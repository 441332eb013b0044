import type { Manifest, Operator } from "../../../runtime/program";
import type { ManifestSet } from "../metadata";
import { TransformError } from "../transform";
import { buildEventPathAccounts } from "./accounts";
import { buildEventBus } from "./eventBus";
import { buildEventSource, planEventPath, specificationBytes } from "./eventSource";
import { buildKeeper } from "./keeper";
import type { EventPathOptions } from "./options";
import { buildSensor } from "./sensor";

/** Every manifest of an event path. */
export interface EventPathManifests {
  readonly accounts: ManifestSet;
  readonly eventBus: Manifest;
  /** As few pairs as the operators' specifications allow. */
  readonly shards: readonly { readonly sensor: Manifest; readonly eventSource: Manifest }[];
  readonly keeper: ManifestSet;
}

/**
 * Builds the event path of these operators.
 *
 * @param engine the ConfigMap of the engine, for the keeper
 * @throws OperatorError if an operator is too large for one Sensor
 * @throws TransformError if the program's transform does something that it may not
 */
export function buildEventPath(
  operators: readonly Operator[],
  options: EventPathOptions,
  engine: Manifest,
): EventPathManifests {
  return {
    accounts: buildEventPathAccounts(operators, options),
    eventBus: buildEventBus(options),
    shards: planEventPath(operators, options).map((shard) => {
      const sensor = buildSensor(shard, options);
      const eventSource = buildEventSource(shard, sensor, options);
      refuseTooLarge("sensor", sensor);
      refuseTooLarge("eventSource", eventSource);
      return { sensor, eventSource };
    }),
    keeper: buildKeeper(options, engine),
  };
}

/** The longest environment variable of Linux, without 4 KiB for the additions of Argo's controller. */
const MOST_BYTES = 124 * 1024;

/** The plan leaves room for additions of a transform to a pair, but not for any addition. */
function refuseTooLarge(part: "sensor" | "eventSource", manifest: Manifest): void {
  const bytes = specificationBytes(manifest);
  if (bytes <= MOST_BYTES) return;
  throw new TransformError(
    `transform.${part} of the ${manifest.kind} ${manifest.metadata.name} makes ${bytes} bytes of it, and its pod can be given ${MOST_BYTES}. Add less.`,
  );
}
