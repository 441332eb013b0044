import { readFileSync } from "node:fs";
import path from "node:path";
import { KubernetesClient } from "../../kubernetes/client";
import { addressOf, endOf, type PodContext, pathOf } from "../pod";
import { startTelemetryServer } from "../telemetryServer";
import { Intake } from "./intake";
import { INTAKE_FILE, parseIntakeFile } from "./intakeFile";
import { startIntakeServer } from "./intakeServer";

/**
 * Creates custom resources from events from outside, until the pod must end. It remembers nothing, so any number of intakes may
 * run.
 * @returns what runs it, when the events of the installation have been read. That throws an Error if a port cannot be had
 * @throws Error if the file of the events is missing or unusable
 */
export function intake(context: PodContext): () => Promise<number> {
  const { environment, settings, connection, log } = context;
  const text = (what: Parameters<typeof pathOf>[1], file: string) =>
    readFileSync(path.join(pathOf(settings, what), file), "utf8");
  const file = parseIntakeFile(text("definition", INTAKE_FILE));
  return async () => {
    const client = new KubernetesClient(connection);
    const onNotice = (notice: string) => log("info", notice);
    const desk = new Intake({ file, client, instance: environment.pod, onNotice });
    const token = () => text("intakeToken", "token").trim();
    const events = await startIntakeServer({ ...addressOf(settings, "hints"), intake: desk, token });
    // Started second, because a sensor can send events as soon as we are ready.
    const telemetry = await startTelemetryServer(context, desk.registry);
    log("info", `taking ${file.events.length} kinds of events`);
    await endOf(context);
    await events.close();
    client.close();
    await telemetry.close();
    return 0;
  };
}
