import { readFileSync } from "node:fs";
import { ChildProcessTransport } from "../../../../cli/handler/childProcessTransport";
import type { HandlerProgram } from "../../../../definition/handlerProgram";
import { Engine } from "../../../../runtime/engine/engine";
import type { ClusterConnection } from "../../../../runtime/kubernetes/connection";
import type { Operator } from "../../../../runtime/operator/definition";

/** The settings that the benchmark writes for its Argosy process, as JSON. */
export interface Settings {
  readonly operator: Operator;
  /** The operator's handler. */
  readonly program: HandlerProgram;
  readonly connection: ClusterConnection;
  /** The namespace of the Lease. */
  readonly namespace: string;
  /** A line that is printed once, when this many objects were reconciled. */
  readonly announcement?: { readonly afterObjects: number; readonly line: string };
  /** See `EngineOptions.program`. */
  readonly programMark?: string;
}

// The engine as one process from one bundle, as in its runner: neither a TypeScript compiler nor Pulumi is in memory.
const { operator, program, connection, namespace, announcement, programMark } = JSON.parse(
  readFileSync(process.argv[2] ?? "", "utf8"),
) as Settings;
const { folder, env } = operator;
const observed = new Set<string>();
const controller = new Engine({
  operator,
  connection,
  namespace,
  transport: new ChildProcessTransport({ ...program, folder, env }),
  identity: `benchmark-${process.pid}`,
  program: programMark,
  onNotice: (notice) => console.log(notice),
  onReport: ({ name, failure }) => {
    if (failure) console.log(`${name}: ${failure.message}`);
    if (!announcement || observed.has(name)) return;
    if (observed.add(name).size === announcement.afterObjects) console.log(announcement.line);
  },
});
process.once("SIGTERM", () => void controller.stop());
void controller.start();
