import { readFileSync } from "node:fs";
import path from "node:path";
import { KubernetesClient } from "../../kubernetes/client";
import { endOf, type PodContext } from "../pod";
import { addressOf, pathOf } from "../podSettings";
import { startTelemetryServer } from "../telemetryServer";
import { Intake } from "./intake";
import { INTAKE_FILE, type IntakeFile, parseIntakeFile } from "./intakeFile";
import { startIntakeServer } from "./intakeServer";

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
    const { environment, settings, connection, log } = context;
    const client = new KubernetesClient(connection);
    const onNotice = (notice: string) => log("info", notice);
    const desk = new Intake({ file, client, instance: environment.pod, onNotice });
    const token = () => readFileSync(path.join(pathOf(settings, "intakeToken"), "token"), "utf8").trim();
    const events = await startIntakeServer({ ...addressOf(settings, "hints"), intake: desk, token });
    // Started second, because a sensor that learns that we are ready can send events at once.
    const telemetry = await startTelemetryServer(context, desk.registry);
    log("info", `taking ${file.events.length} kinds of events`);
    await endOf(context);
    await events.close();
    client.close();
    await telemetry.close();
    return 0;
  },
};
