import { localHandler } from "../../../cli/handler/localHandler";
import { Engine } from "../../../runtime/engine/engine";
import type { ControllerProcessInput, ControllerProcessOutput } from "./controllerProcess";

const tell = (output: ControllerProcessOutput) => void process.send?.(output);

process.on("unhandledRejection", (reason) => tell({ fault: String(reason) }));
process.on("uncaughtException", (error) => tell({ fault: String(error) }));
// The process that started us has gone.
process.on("disconnect", () => process.exit());
process.once("message", (input: ControllerProcessInput) => {
  const { operator, connection, token, namespace, identity, leaseSeconds } = input;
  const controller = new Engine({
    operator,
    connection: { ...connection, token: () => token },
    transport: localHandler(operator, operator.env),
    namespace,
    identity,
    leaseSeconds,
    onReport: ({ name, generation, result, skipped }) =>
      tell({ report: { name, generation, result, ...(skipped && { skipped }) } }),
    onNotice: (notice) => tell({ notice }),
  });
  void controller.start();
});
