import type { UpResult } from "@pulumi/pulumi/automation";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { Api } from "../../integration/support/api";
import { namespace } from "../../integration/support/manifests";
import { tell, waitFor } from "./progress";
import { ProjectCopy } from "./projectCopy";
import { TestStack } from "./stack";

/** Where operators live and where Argo's controllers do, by default. */
export const NAMESPACE = "argosy";
export const CONTROLLER_NAMESPACE = "argosy-system";
const STACK = "e2e";

/** One run of the e2e: the cluster, the copy of the project, its stack, and a user's namespace. */
export class Session {
  readonly api: Api;
  /** The namespace of a user, where custom resources are made. */
  readonly team = `argosy-e2e-${process.pid}`;
  readonly project = new ProjectCopy(STACK);
  readonly stack = new TestStack(this.project, STACK);
  private firstUp: Promise<UpResult> | undefined;
  private isDown = false;

  private constructor(readonly connection: ClusterConnection) {
    this.api = new Api(connection);
  }

  /** @throws Error where the cluster has an installation already, which would not survive */
  static async open(connection: ClusterConnection): Promise<Session> {
    const session = new Session(connection);
    try {
      for (const name of [NAMESPACE, CONTROLLER_NAMESPACE]) {
        if (await session.api.find(namespace(name))) throw new Error(takenMessage(connection.server, name));
      }
      await session.api.create(namespace(session.team));
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** The first `pulumi up`, done once, however many tests need it. */
  up(): Promise<UpResult> {
    this.firstUp ??= this.stack.up();
    return this.firstUp;
  }

  async destroy(): Promise<void> {
    await this.stack.destroy();
    this.isDown = true;
  }

  /** Leaves the cluster as it was found, whatever has happened. */
  async close(): Promise<void> {
    try {
      if (this.firstUp && !this.isDown) await this.cleanUp();
      await this.api.delete(namespace(this.team));
      await waitFor("the user's namespace to go", () => this.api.assertGone(namespace(this.team)), 180_000);
      this.project.remove();
    } finally {
      this.api.close();
    }
  }

  private async cleanUp(): Promise<void> {
    try {
      const broken = await this.firstUp?.then(
        () => false,
        () => true,
      );
      if (broken) await this.stack.unlock().catch(() => {});
      await this.destroy();
    } catch (error) {
      tell("the cluster could not be cleaned up. To do it by hand:");
      process.stderr.write(`${this.stack.destroyCommand}\nkubectl delete namespace ${this.team}\n`);
      throw error;
    }
  }
}

function takenMessage(server: string, name: string): string {
  return `the cluster at ${server} has a namespace ${name} already: the e2e would install into it and delete it. Use an empty cluster (KUBECONFIG), or "pulumi destroy" what is there.`;
}
