import { sideBySide } from "../../support/sideBySide";
import { announceKind, sharedCluster, type TestCluster } from "./cluster";
import { customResourceDefinitionOf, TestOperator } from "./testOperator";

/** What {@link withOperatorEach} takes besides the scenes. */
export interface OperatorEachOptions {
  /** How the names of the operators begin: their kinds are made of them, so it is unique in a mocha run. */
  readonly name: string;
  /** How long the work in progress may take when a scene has ended. @default for ever */
  readonly graceMs?: number;
}

/** What a test does with what it works with. */
export type Play<Scene> = (scene: Scene) => Promise<void>;

/**
 * Tests that wait most of their time and run side by side, each with an operator, and so a kind and a Lease, of its own.
 * @param begin makes of an operator what a test works with, plays the test, and ends what it has begun
 * @param scenes what each test does, by its title
 */
export function withOperatorEach<Scene>(
  { name, graceMs }: OperatorEachOptions,
  begin: (operator: TestOperator, play: Play<Scene>) => Promise<void>,
  scenes: Readonly<Record<string, Play<Scene>>>,
): void {
  let cluster: TestCluster;
  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    cluster = await sharedCluster();
  });
  const plays = Object.entries(scenes).map(([title, play], at) => {
    const options = { name: `${name}-${at}` };
    announceKind(customResourceDefinitionOf(options));
    const playWithOperator = async () => {
      const operator = await TestOperator.install(cluster, options);
      try {
        await begin(operator, play);
      } finally {
        await operator.dispose(graceMs);
      }
    };
    return [title, playWithOperator] as const;
  });
  sideBySide(Object.fromEntries(plays));
}
