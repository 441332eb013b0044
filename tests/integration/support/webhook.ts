import { createServer, type Server } from "node:https";
import type { KubernetesObject, Manifest } from "../../../runtime/base/objects";
import type { JsonPatchOperation } from "../../../runtime/kubernetes/client";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { eventually } from "../../support/eventually";
import type { Api } from "./api";

/** What the API server asks a webhook, as far as tests read it. */
export interface Review {
  readonly uid: string;
  readonly operation: "CREATE" | "UPDATE" | "DELETE";
  readonly name: string;
  readonly subResource?: string;
  readonly object: KubernetesObject | null;
  readonly oldObject: KubernetesObject | null;
}

/** How a webhook refuses. */
export interface Denial {
  /** HTTP status code. */
  readonly code: number;
  readonly message: string;
}

/** What a {@link Webhook} is asked about. */
export interface WebhookRule {
  readonly group: string;
  /** "configmaps", or "widgets/status". */
  readonly resources: readonly string[];
  readonly namespace: string;
  /** Seconds that the API server waits for it. @default 10 */
  readonly timeoutSeconds?: number;
  /** @default "Fail" */
  readonly failurePolicy?: "Fail" | "Ignore";
  /** Whether it may change what is written, before others check that. @default false */
  readonly isMutating?: boolean;
}

/** The name of what is written to find out whether the API server asks the webhook already. */
const PROBE = "webhook-probe";

/** A webhook that the API server asks before it writes. It shows the API server's own certificate. */
export class Webhook {
  /** What it answers. Undefined: the write is allowed. */
  answer: (review: Review) => Promise<Denial | undefined> | Denial | undefined = () => undefined;
  /** What a mutating one changes of what is written. */
  mutate: (review: Review) => JsonPatchOperation[] = () => [];
  /** Whether it answers every question with 500, which is no answer. */
  isBroken = false;
  /** What it was asked, and when. */
  readonly asked: { readonly review: Review; readonly at: number }[] = [];

  private constructor(
    private readonly api: Api,
    private readonly listener: Server,
    private readonly configuration: Manifest,
    rule: WebhookRule,
  ) {
    listener.on("request", async (incoming, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk as Buffer);
      const { request } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { request: Review };
      const denial = await this.deny(request);
      if (this.isBroken) return void response.writeHead(500).end("out of order");
      const { uid } = request;
      const answer = {
        ...{ uid, allowed: !denial, ...(denial && { status: { ...denial, reason: "Conflict" } }) },
        ...(rule.isMutating && request.name !== PROBE && this.patchOf(request)),
      };
      response.setHeader("content-type", "application/json");
      response.end(
        JSON.stringify({ apiVersion: "admission.k8s.io/v1", kind: "AdmissionReview", response: answer }),
      );
    });
  }

  /**
   * Resolves when the API server asks it.
   * @param admin the control plane's own connection: its certificate is the API server's too
   * @param probe an object of one of the resources, which the webhook refuses once
   */
  static async start(
    api: Api,
    admin: ClusterConnection,
    rule: WebhookRule,
    probe: Manifest,
  ): Promise<Webhook> {
    const { certificateAuthority, certificate, privateKey } = admin;
    const listener = createServer({ cert: certificate, key: privateKey });
    await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
    const { port } = listener.address() as { port: number };
    const { group, resources, namespace, timeoutSeconds = 10, failurePolicy = "Fail" } = rule;
    const type = rule.isMutating ? "Mutating" : "Validating";
    const operations = ["CREATE", "UPDATE", "DELETE"];
    const configuration: Manifest = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: `${type}WebhookConfiguration`,
      metadata: { name: `webhook.${namespace}` },
      webhooks: [
        {
          name: "hostile.example.com",
          clientConfig: {
            url: `https://127.0.0.1:${port}/`,
            caBundle: Buffer.from(String(certificateAuthority)).toString("base64"),
          },
          rules: [{ apiGroups: [group], apiVersions: ["*"], operations, resources: [...resources] }],
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          timeoutSeconds,
          failurePolicy,
        },
      ],
    };
    const webhook = new Webhook(api, listener, configuration, rule);
    await api.apply(configuration);
    const { name, ...metadata } = probe.metadata;
    const named = { ...probe, metadata: { ...metadata, name: PROBE, namespace } };
    await eventually(async () => {
      await api.apply(named);
      await api.delete(named);
      if (!webhook.asked.some(({ review }) => review.name === PROBE)) throw new Error("it is not asked");
    });
    return webhook;
  }

  /** The API server asks it no longer. */
  async stop(): Promise<void> {
    await this.api.delete(this.configuration);
    const closed = new Promise<void>((resolve) => this.listener.close(() => resolve()));
    this.listener.closeAllConnections();
    await closed;
  }

  /** How often it was asked about an object. */
  countOf(name: string, operation?: Review["operation"]): number {
    return this.asked.filter(
      ({ review }) => review.name === name && (operation === undefined || review.operation === operation),
    ).length;
  }

  private patchOf(review: Review) {
    const patch = Buffer.from(JSON.stringify(this.mutate(review))).toString("base64");
    return { patchType: "JSONPatch", patch };
  }

  private async deny(review: Review): Promise<Denial | undefined> {
    this.asked.push({ review, at: performance.now() });
    return review.name === PROBE ? undefined : this.answer(review);
  }
}
