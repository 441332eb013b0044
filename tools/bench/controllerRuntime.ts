import { existsSync } from "node:fs";
import { join } from "node:path";
import { reportWhile } from "../../cli/controlPlane/progress";
import { runCommand } from "./command";
import { startOperator } from "./operatorProcess";
import type { Peer } from "./peer";

const FOLDER = join(__dirname, "peers", "controller-runtime");

/** The arguments for each of its configurations, on this machine and in a cluster. */
export const CONTROLLER_RUNTIME_ARGUMENTS = {
  /** Its defaults. */
  "controller-runtime": ["--workers=1"],
  /** As many concurrent reconciles as Argosy's default, and client limits that the work never reaches. */
  "controller-runtime-raised": ["--workers=32", "--qps=1000", "--burst=2000"],
} as const;

/** The peer on controller-runtime, the Go library of Kubebuilder and the Operator SDK, in one of its configurations. */
export function createControllerRuntimePeer(name: keyof typeof CONTROLLER_RUNTIME_ARGUMENTS): Peer {
  const args = CONTROLLER_RUNTIME_ARGUMENTS[name];
  let program = "";
  return {
    name,
    async prepare({ cache, progress, signal }) {
      program = join(cache, "memcached-controller-runtime");
      const options = { folder: FOLDER, signal, env: { GOTOOLCHAIN: "local", GOWORK: "off" } };
      const build = () =>
        runCommand("go", ["build", "-trimpath", "-ldflags", "-s -w", "-o", program, "."], options);
      // Go's own cache detects changes, so only the first build takes long.
      if (existsSync(program)) await build();
      else {
        const line = (elapsed: string) =>
          `controller-runtime: building its operator with Go, once (${elapsed})`;
        await reportWhile(progress, line, build);
      }
    },
    start: async (start) => startOperator({ ...start, program, args, readyText: "Starting workers" }),
  };
}
