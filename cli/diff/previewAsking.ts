import type { KubernetesObject, Manifest } from "../../runtime/base/objects";
import type { Resource } from "../../runtime/base/resource";
import {
  askHandler,
  type DesiredChild,
  DirectUse,
  desiredChildren,
  gatherUsed,
  type HandlerPool,
  type KubernetesClient,
  type Memory,
  type Operator,
  questionAbout,
  type ReconcileAnswer,
  type Used,
} from "../../runtime/cli";
import type { Observation } from "./observation";
import { SecretMade } from "./secretMade";
import { otherFakeOf, SecretMask } from "./secretMask";

/** What {@link PreviewAsking} works with. */
export interface PreviewAskingOptions {
  readonly operator: Operator;
  readonly childResources: readonly Resource[];
  readonly client: KubernetesClient;
  readonly pool: Pick<HandlerPool, "ask">;
  readonly checkStatus: (status: unknown) => string | undefined;
  /** The Secrets that the handler has in its environment, here and in the cluster. */
  readonly secrets: readonly KubernetesObject[];
  /** Whether there are others there, which this account cannot read. */
  readonly isUnread: boolean;
  /** @see DeployedOperator.usedSecrets */
  readonly usedSecrets?: Operator["uses"] | undefined;
}

/** What a handler is given with the object. */
interface Given {
  readonly children: readonly KubernetesObject[];
  readonly used: Used;
}

/** An answer of the handler. */
export interface PreviewAnswer {
  /** With the real values in Secrets. */
  readonly children: readonly DesiredChild[];
  /** Undefined if the handler was given no Secret, and all that it may have of them is known. */
  readonly made: SecretMade | undefined;
}

const UNREAD = {
  note: "This account cannot read a Secret that the operator has, or had when it was deployed, so of a field only its name is shown.",
};

/** Asks a handler about one object for a preview. The mask learns every value that an answer or a live child may have. */
export class PreviewAsking {
  /** What the handler is not given, or the user is not shown, and why. */
  warnings: readonly { readonly note: string }[] = [];
  /** The end of the handler's standard error, once it has answered. */
  log = "";

  constructor(
    private readonly options: PreviewAskingOptions,
    private readonly object: KubernetesObject,
    private readonly observation: Observation,
    private readonly mask: SecretMask,
  ) {}

  /**
   * Asks, and once more with other fakes if there are any.
   * @throws ReconcileFailure, ApiError, StillListingError if there is no valid answer
   */
  async ask(memory: Memory): Promise<PreviewAnswer> {
    const { mask } = this;
    const given = await this.gather();
    const areKnown = await this.learn();
    if (!areKnown) this.warnings = [...this.warnings, UNREAD];
    const { children, log } = await this.answer(given, memory, mask);
    this.log = log;
    const desired = this.desired(children.map((child) => mask.restored(child)));
    if (areKnown && !mask.hasGiven) return { children: desired, made: undefined };
    const again = areKnown
      ? await this.answer(given, memory, new SecretMask(false, otherFakeOf))
          .then((other) => this.desired(other.children))
          .catch(() => undefined)
      : undefined;
    return { children: desired, made: new SecretMade(again) };
  }

  private async gather(): Promise<Given> {
    const { children, warnings: ofChildren } = await this.observation.children();
    const { used, warnings: ofUsed, secrets } = await this.observation.used("reconcile");
    this.warnings = [...ofChildren, ...ofUsed];
    for (const secret of secrets) this.mask.learn(secret);
    return { children, used };
  }

  /** @returns whether all Secrets are known of which a live child may have values */
  private async learn(): Promise<boolean> {
    const { secrets, isUnread, usedSecrets = {}, client, operator } = this.options;
    for (const secret of secrets) this.mask.learn(secret);
    const deployed = { ...operator, uses: usedSecrets };
    try {
      const former = await gatherUsed(deployed, this.object, "reconcile", new DirectUse(deployed, client));
      for (const secret of former.secrets) this.mask.learn(secret);
      return !isUnread;
    } catch {
      return false;
    }
  }

  private async answer(
    { children, used }: Given,
    { state }: Memory,
    mask: SecretMask,
  ): Promise<{ children: readonly Manifest[]; log: string }> {
    const { operator, pool, checkStatus } = this.options;
    const given = Object.entries(used).map(([key, value]) => [key, mask.given(value)]);
    const question = questionAbout({
      event: "reconcile",
      object: mask.given(this.object),
      children: mask.given(children),
      used: Object.fromEntries(given) as Used,
      attempt: 1,
      state,
      dryRun: true,
    });
    const { answer, log } = await askHandler<ReconcileAnswer>(pool, question, checkStatus, !operator.watch);
    return { children: answer.children, log };
  }

  private desired(answered: readonly Manifest[]): DesiredChild[] {
    const { operator, childResources } = this.options;
    return desiredChildren(answered, this.object, operator, childResources);
  }
}
