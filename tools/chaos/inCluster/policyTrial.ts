import { until } from "../../../cli/common/until";
import type { Manifest } from "../../../runtime/base/objects";
import { type Administrator, RESOURCES } from "./administrator";
import { Ledger } from "./ledger";

const NAME = "network-trial";
const TIMEOUT_MS = 120_000;
const POLL_MS = 500;

/** Succeeds if its connections fail for three seconds, within half a minute. */
const PROGRAM = `
(async () => {
  for (let tries = 0; tries < 10; tries++) {
    const let_through = await fetch(process.env.TARGET, { signal: AbortSignal.timeout(3000) }).catch(() => false);
    if (!let_through) process.exit(0);
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
  process.exit(1);
})();
`;

/**
 * Whether the cluster's network enforces NetworkPolicy. A pod tests this while a NetworkPolicy keeps it from the ledger.
 * @param image an image of Node
 * @throws Error if the pod does not end
 */
export async function enforcesPolicies(
  administrator: Administrator,
  ledger: { readonly url: string; readonly namespace: string },
  image: string,
): Promise<boolean> {
  const { client } = administrator;
  const metadata = { name: NAME, namespace: ledger.namespace };
  const policy: Manifest = {
    ...{ apiVersion: "networking.k8s.io/v1", kind: "NetworkPolicy", metadata },
    spec: { podSelector: { matchLabels: Ledger.labels }, policyTypes: ["Ingress"] },
  };
  const env = [{ name: "TARGET", value: ledger.url }];
  const pod: Manifest = {
    ...{ apiVersion: "v1", kind: "Pod", metadata },
    spec: {
      restartPolicy: "Never",
      containers: [{ name: NAME, image, command: ["node", "-e", PROGRAM], env }],
    },
  };
  await administrator.apply(policy);
  try {
    await administrator.apply(pod);
    const ending = async () => {
      const { phase } = ((await client.get(RESOURCES.pod, metadata))?.["status"] ?? {}) as { phase?: string };
      return (phase === "Succeeded" || phase === "Failed") && phase;
    };
    const what = `pod ${NAME} has ended`;
    return (await until(ending, { what, deadlineMs: TIMEOUT_MS, pollMs: POLL_MS })) === "Succeeded";
  } finally {
    await client.delete(RESOURCES.pod, metadata);
    await client.delete(RESOURCES.networkPolicy, metadata);
  }
}
