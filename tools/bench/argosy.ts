import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { LOOPS_FOLDER } from "../../components/engineBundle";
import { NEW_SPACE_OPTION } from "../../components/manifests/engineContainer";
import { IMAGES } from "../../components/manifests/images";
import { heapOption, type ResourceOptions } from "../../components/manifests/resources";
import { programOf } from "../../definition/handlerProgram";
import type { ClusterConnection } from "../../runtime/kubernetes/connection";
import type { Operator } from "../../runtime/operator/definition";
import { NAMESPACE } from "./cluster";
import { startOperator } from "./operatorProcess";
import type { Peer } from "./peer";
import type { Settings } from "./peers/argosy/main";

/** The version of Node in the runner's pod. */
const NODE_OF_POD = `v${IMAGES.engine.tag.split("-", 1)[0]}`;

/**
 * Argosy itself: the engine as one bundle in one Node process, the operator's own handler as its children.
 * @param announcement a line that it prints in addition
 * @param options the limit of the runner's container. Default: that of the program.
 * @param programMark what tells this program from others, for an operator with `ask: changed`. Default: unknown
 */
export function createArgosyPeer(
  operator: Operator,
  announcement?: Settings["announcement"],
  options: ResourceOptions = {},
  programMark?: string,
): Peer {
  let bundle = "";
  let settingsFile = "";
  return {
    name: "argosy",
    async prepare({ cache, progress }) {
      if (process.version !== NODE_OF_POD)
        progress(
          `argosy: the engine runs with Node ${process.version}, as this command does. The runner's pod has ${NODE_OF_POD}, which compiles in another way: for its figures, run the benchmark with that version`,
        );
      bundle = join(cache, "argosy.js");
      settingsFile = join(cache, "argosy.json");
      const entry = join(__dirname, "peers", "argosy", "main.ts");
      await build({ entryPoints: [entry], bundle: true, minify: true, platform: "node", outfile: bundle });
    },
    async start(start) {
      const connection = asPlainData(start.connection);
      const settings: Settings = {
        operator,
        program: programOf(operator, LOOPS_FOLDER),
        connection,
        namespace: NAMESPACE,
        ...(announcement && { announcement }),
        ...(programMark !== undefined && { programMark }),
      };
      await writeFile(settingsFile, JSON.stringify(settings), { mode: 0o600 });
      return startOperator({
        ...start,
        program: process.execPath,
        // As in the runner's pod: how much garbage V8 leaves depends on both options.
        args: [NEW_SPACE_OPTION, bundle, settingsFile],
        env: { NODE_OPTIONS: heapOption("runner", options) },
        readyText: "leading",
      });
    },
  };
}

/** The connection with its certificates as text. It has no token, because the control plane's administrator has none. */
function asPlainData(connection: ClusterConnection): ClusterConnection {
  const { server, certificateAuthority, certificate, privateKey } = connection;
  const pem = Object.entries({ certificateAuthority, certificate, privateKey });
  const texts = pem.filter(([, value]) => value !== undefined).map(([name, value]) => [name, String(value)]);
  return { server, ...Object.fromEntries(texts) };
}
