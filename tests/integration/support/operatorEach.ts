import { sideBySide } from "../../support/sideBySide";
import { announceKind, sharedCluster, type TestCluster } from "./cluster";
import { customResourceDefinitionOf, TestOperator, type TestOperatorOptions } from "./testOperator";

/** What a test does with what it works with. */
export type Play<Scene> = (scene: Scene) => Promise<void>;

/** A test with an operator for itself, and so with a kind and a Lease. */
export interface OperatorScene {
  /** The operator. Its name is unique in a mocha run. */
  readonly options: TestOperatorOptions;
  readonly play: Play<TestOperator>;
}

/**
 * Tests that wait most of their time and run side by side, each with an operator of its own.
 * @param scenes the tests, by their titles
 * @param graceMs how long the work in progress may take when a test has ended. @default for ever
 */
export function withOperators(scenes: Readonly<Record<string, OperatorScene>>, graceMs?: number): void {
  let cluster: TestCluster;
  before(async function () {
    // The control plane may have to be built.
    this.timeout(0);
    cluster = await sharedCluster();
  });
  const plays = Object.entries(scenes).map(([title, { options, play }]) => {
    if (options.watch === undefined) announceKind(customResourceDefinitionOf(options));
    const playWithOperator = async () => {
      const operator = await TestOperator.install(cluster, options);
      try {
        await play(operator);
      } finally {
        await operator.dispose(graceMs);
      }
    };
    return [title, playWithOperator] as const;
  });
  sideBySide(Object.fromEntries(plays));
}

/** The options of {@link withOperatorEach}. */
export interface OperatorEachOptions {
  /** How the names of the operators begin: their kinds are made of them, so it is unique in a mocha run. */
  readonly name: string;
  /** How long the work in progress may take when a scene has ended. @default for ever */
  readonly graceMs?: number;
}

/**
 * Does the same as {@link withOperators} for operators that differ only in their names.
 * @param begin makes of an operator what a test works with, plays the test, and ends what it has begun
 * @param scenes what each test does, by its title
 */
export function withOperatorEach<Scene>(
  { name, graceMs }: OperatorEachOptions,
  begin: (operator: TestOperator, play: Play<Scene>) => Promise<void>,
  scenes: Readonly<Record<string, Play<Scene>>>,
): void {
  const each = Object.entries(scenes).map(([title, play], at): [string, OperatorScene] => [
    title,
    { options: { name: `${name}-${at}` }, play: (operator) => begin(operator, play) },
  ]);
  withOperators(Object.fromEntries(each), graceMs);
}
