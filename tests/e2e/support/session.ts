import type { UpResult } from "@pulumi/pulumi/automation";
import type { ClusterConnection } from "../../../runtime/kubernetes/connection";
import { Api } from "../../integration/support/api";
import { namespace } from "../../integration/support/manifests";
import { Installation } from "./installation";
import { waitFor } from "./progress";
import { type CopyOptions, ProjectCopy } from "./projectCopy";
import type { TestStack } from "./stack";

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
  private readonly common = new Installation(this.project, STACK);
  private readonly installations = [this.common];

  private constructor(readonly connection: ClusterConnection) {
    this.api = new Api(connection);
    this.project.teachMisbehaviour();
  }

  /** The stack that most tests share. */
  get stack(): TestStack {
    return this.common.stack;
  }

  /** @throws Error where the cluster has an installation already, which would not survive */
  static async open(connection: ClusterConnection): Promise<Session> {
    const session = new Session(connection);
    try {
      for (const name of [NAMESPACE, CONTROLLER_NAMESPACE]) {
        if (await session.api.find(namespace(name))) throw new Error(takenMessage(connection.server, name));
      }
      await session.createNamespace(session.team);
      return session;
    } catch (error) {
      await session.close();
      throw error;
    }
  }

  /** The first `pulumi up`, done once, however many tests need it. */
  up(): Promise<UpResult> {
    return this.common.up();
  }

  destroy(): Promise<void> {
    return this.common.destroy();
  }

  /**
   * Makes room for an installation of a test's own, not `up` yet: whatever of ours is in the cluster is taken away.
   * @param name the stack's
   */
  async anotherInstallation(name: string, options: CopyOptions = {}): Promise<Installation> {
    await this.destroyAll();
    const another = new Installation(new ProjectCopy(name, options), name);
    this.installations.push(another);
    return another;
  }

  /** Takes away whatever of ours is in the cluster. */
  async destroyAll(): Promise<void> {
    for (const installation of this.installations) await installation.takeDown();
  }

  /** Makes a namespace, after one of this name that an earlier test left has gone. */
  async createNamespace(name: string): Promise<void> {
    await this.deleteNamespace(name);
    await this.api.create(namespace(name));
  }

  /** Deletes a namespace if there is one, and waits until it has gone. */
  async deleteNamespace(name: string): Promise<void> {
    await this.api.delete(namespace(name));
    await waitFor(`the namespace ${name} to go`, () => this.api.assertGone(namespace(name)), 180_000);
  }

  /** Leaves the cluster as it was found, whatever has happened. */
  async close(): Promise<void> {
    try {
      await this.destroyAll();
      await this.deleteNamespace(this.team);
      for (const { project } of this.installations) project.remove();
    } finally {
      this.api.close();
    }
  }
}

function takenMessage(server: string, name: string): string {
  return `the cluster at ${server} has a namespace ${name} already: the e2e would install into it and delete it. Use an empty cluster (KUBECONFIG), or "pulumi destroy" the installation in it.`;
}
