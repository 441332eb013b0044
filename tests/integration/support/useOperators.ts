import assert from "node:assert/strict";
import type { KubernetesObject } from "../../../runtime/base/objects";
import type { Reference } from "../../../tools/objects";
import type { Patience } from "../../support/eventually";
import type { Api } from "./api";
import { announceKind, sharedCluster, type TestCluster } from "./cluster";
import { customResourceDefinitionOf, TestOperator, type TestOperatorOptions } from "./testOperator";
import { becomesReady } from "./useOperator";

/** What tests work with that install operators and start their controllers themselves. */
export class Installations {
  private installed: TestOperator[] = [];
  private cluster: TestCluster | undefined;
  private ofTest = "";

  /** The API as others than the engine use it. */
  get api(): Api {
    return this.now.api;
  }

  /** A namespace of this test alone. */
  get namespace(): string {
    return this.ofTest;
  }

  /** Installs an operator. Its controllers are stopped after the test. */
  async install(options: TestOperatorOptions): Promise<TestOperator> {
    const operator = await TestOperator.install(this.now, options);
    this.installed.push(operator);
    return operator;
  }

  /** Waits until an object is ready at its newest generation. */
  ready(object: Reference, patience?: Patience): Promise<KubernetesObject> {
    return becomesReady(this.api, object, patience);
  }

  /** @internal */
  async begin(): Promise<void> {
    this.cluster = await sharedCluster();
  }

  /** @internal */
  async beginTest(name: string): Promise<void> {
    this.ofTest = await this.api.newNamespace(name);
  }

  /** @internal */
  async endTest(graceMs: number | undefined): Promise<void> {
    await Promise.all(this.installed.splice(0).map((operator) => operator.dispose(graceMs)));
  }

  private get now(): TestCluster {
    assert.ok(this.cluster, "only to be used inside of tests");
    return this.cluster;
  }
}

/**
 * Lets each test of a suite install operators of these kinds.
 * @param graceMs how long the work in progress may take when a test has ended. @default for ever
 */
export function useOperators(
  kinds: readonly TestOperatorOptions[],
  { graceMs }: { readonly graceMs?: number } = {},
): Installations {
  const installations = new Installations();
  for (const kind of kinds) announceKind(customResourceDefinitionOf(kind));
  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    await installations.begin();
  });
  beforeEach(() => installations.beginTest(kinds[0]?.name ?? "operators"));
  afterEach(() => installations.endTest(graceMs));
  return installations;
}
