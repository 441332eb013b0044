import assert from "node:assert/strict";
import { IMAGES, imageReference } from "../../../components/manifests/images";
import type { Manifest } from "../../../runtime/base/objects";
import type { Metadata } from "../../integration/support/manifests";
import { session } from "./hooks";
import { waitFor } from "./progress";

/** Where a pod may connect to. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Ends with 0 where the last three tries to connect went well, with 3 where none of them did. The first ones do not count:
 * a network plugin needs a moment to learn of a new pod.
 */
const CLIENT = `
const { connect } = require("node:net");
const [host, port] = process.argv.slice(1);
const once = () => new Promise((resolve) => {
  const socket = connect({ host, port: Number(port) });
  const end = (connected) => { socket.destroy(); resolve(connected); };
  socket.setTimeout(2000, () => end(false)).on("connect", () => end(true)).on("error", () => end(false));
});
(async () => {
  const last = [];
  for (let tries = 1; tries <= 30; tries++) {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    last.unshift(await once());
    if (tries >= 5 && last.slice(0, 3).every((each) => each === last[0])) process.exit(last[0] ? 0 : 3);
  }
  process.exit(4);
})();
`;

const SERVER = `require("node:net").createServer((socket) => socket.end()).listen(Number(process.argv[1]));`;

let pods = 0;

/**
 * Whether a pod of this namespace, with these labels, can connect to an address.
 * @throws Error where it cannot tell: it now can and now cannot
 */
export async function reaches(from: Metadata, { host, port }: Address): Promise<boolean> {
  const pod = nodePod(from, [CLIENT, host, String(port)]);
  await session().api.create(pod);
  try {
    const code = await waitFor(`${pod.metadata.name} to try ${host}:${port}`, () => exitCode(pod), 180_000);
    assert.ok(code === 0 || code === 3, `it ended with ${code}`);
    return code === 0;
  } finally {
    await session().api.delete(pod);
  }
}

/** Whether the cluster's network enforces NetworkPolicy: a policy here lets no pod reach the server. */
export async function enforcesPolicies(): Promise<boolean> {
  const { api, team } = session();
  const [app, port] = ["refused", 8080] as const;
  const policy: Manifest = {
    apiVersion: "networking.k8s.io/v1",
    kind: "NetworkPolicy",
    metadata: { name: app, namespace: team },
    spec: { podSelector: { matchLabels: { app } }, policyTypes: ["Ingress"] },
  };
  await api.create(policy);
  try {
    return !(await reaches({ namespace: team }, { host: await serverPod(app, port), port }));
  } finally {
    await api.delete(policy);
  }
}

/** Starts a pod that takes connections, with the label `app`, in the user's namespace. Gives its address. */
export async function serverPod(app: string, port: number): Promise<string> {
  const server = nodePod({ namespace: session().team, labels: { app } }, [SERVER, String(port)]);
  await session().api.create(server);
  return waitFor(`the pod ${app}`, () => addressOf(server), 180_000);
}

/** A pod of the image that the runners have, which the nodes have so. It passes the `restricted` Pod Security Standard. */
export function nodePod(
  metadata: Metadata,
  [program = "", ...args]: readonly string[],
  name = `network-${++pods}`,
) {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { ...metadata, name },
    spec: {
      restartPolicy: "Never",
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: "RuntimeDefault" } },
      containers: [
        {
          name: "main",
          image: imageReference(IMAGES.engine),
          command: ["node", "-e", program, ...args],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
        },
      ],
    },
  };
}

async function exitCode(pod: Manifest): Promise<number> {
  const { status } = await session().api.get(pod);
  const { containerStatuses } = status as {
    containerStatuses?: { state: { terminated?: { exitCode: number } } }[];
  };
  const ended = containerStatuses?.[0]?.state.terminated;
  assert.ok(ended, "it has not ended");
  return ended.exitCode;
}

async function addressOf(pod: Manifest): Promise<string> {
  const { status } = await session().api.get(pod);
  const { phase, podIP } = status as { phase?: string; podIP?: string };
  assert.ok(phase === "Running" && podIP, "it does not run yet");
  return podIP;
}
