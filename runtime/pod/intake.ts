import { readFileSync } from "node:fs";
import path from "node:path";
import { EventWarnings } from "../events/eventWarnings";
import { Intake } from "../events/intake";
import { INTAKE_FILE, type IntakeFile, parseIntakeFile } from "../events/intakeFile";
import { startIntakeServer } from "../events/intakeServer";
import { KubernetesClient } from "../kubernetes/client";
import { MANAGER_PREFIX } from "../names";
import { endOf, type PodContext } from "./pod";
import { addressOf, pathOf } from "./podSettings";
import { startTelemetryServer } from "./telemetryServer";

/**
 * Creates custom resources from events from outside, until the pod must end. It remembers nothing, so any number of intakes may
 * run.
 */
export const intake = {
  /**
   * Reads the events of the installation.
   * @throws Error if the file is missing or unusable
   */
  read({ settings }: PodContext): IntakeFile {
    return parseIntakeFile(readFileSync(path.join(pathOf(settings, "definition"), INTAKE_FILE), "utf8"));
  },

  /** @throws Error if a port cannot be had */
  async run(context: PodContext, file: IntakeFile): Promise<number> {
    const { environment, settings, connection, log, stopping } = context;
    const client = new KubernetesClient(connection);
    const onNotice = (notice: string) => log("info", notice);
    const controller = `${MANAGER_PREFIX}${file.installation}.intake`;
    const warnings = new EventWarnings({ client, controller, instance: environment.pod });
    const desk = new Intake({ file, client, warnings, onNotice });
    const token = () => readFileSync(path.join(pathOf(settings, "intakeToken"), "token"), "utf8").trim();
    const events = await startIntakeServer({ ...addressOf(settings, "hints"), intake: desk, token });
    // Started second, because a sensor that learns that we are ready can send events at once.
    const telemetry = await startTelemetryServer({
      ...addressOf(settings, "metrics"),
      registry: desk.registry,
      stopping,
    });
    log("info", `taking ${file.events.length} kinds of events`);
    await endOf(context);
    await events.close();
    client.close();
    await telemetry.close();
    return 0;
  },
};
