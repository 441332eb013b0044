import type { Change, Plan, PlannedFault, Round, Verb } from "./plan";
import { Random } from "./random";
import type { Wish } from "./spec";

/** The options of a plan. */
export interface PlanOptions {
  readonly seed: number;
  /** The total number of changes. */
  readonly changes: number;
  /** The number of names of objects. All objects are created and deleted several times. */
  readonly objects: number;
  /** The number of rounds at the beginning without a fault, for comparison. */
  readonly calmRounds: number;
  /** The number of changes of a round. */
  readonly changesPerRound: number;
  /** The kinds of faults. Each occurs once before any occurs again. */
  readonly faults: readonly string[];
  /** Each fault lasts a time between these two. */
  readonly faultSeconds: readonly [shortest: number, longest: number];
  /** The longest time that the handler takes. */
  readonly mostDelayMs: number;
}

/** The weights of the kinds of changes of an existing object. */
const VERBS: Readonly<Record<Exclude<Verb, "create">, number>> = {
  apply: 25,
  patch: 25,
  delete: 8,
  recreate: 6,
  label: 8,
  status: 8,
  touch: 4,
  foreigner: 4,
  forge: 3,
  autoscale: 4,
  contest: 3,
  orphan: 3,
  editChild: 10,
  deleteChild: 10,
};

/** The share of rounds with a second fault in addition to the first. */
const TWO_FAULTS = 0.3;

/** Makes a plan: the same for the same options. */
export function generatePlan(options: PlanOptions): Plan {
  const random = new Random(options.seed);
  const deck = new Deck(random, options.faults);
  const alive = new Set<string>();
  const rounds: Round[] = [];
  for (let made = 0; made < options.changes; ) {
    const length = Math.min(options.changesPerRound, options.changes - made);
    const changes = Array.from({ length }, (_, at) => generateChange(random, made + at + 1, alive, options));
    rounds.push({
      changes,
      faults: rounds.length < options.calmRounds ? [] : generateFaults(random, deck, length, options),
    });
    made += length;
  }
  return { seed: options.seed, rounds };
}

function generateChange(random: Random, value: number, alive: Set<string>, options: PlanOptions): Change {
  const object = `o-${random.below(options.objects)}`;
  const wish = generateWish(random, value, options);
  if (!alive.has(object)) {
    alive.add(object);
    return { verb: random.chance(0.5) ? "create" : "apply", object, wish };
  }
  const verb = random.weighted(VERBS);
  switch (verb) {
    case "delete":
      alive.delete(object);
      return { verb, object };
    case "orphan":
      alive.delete(object);
      return { verb, object, value };
    case "label":
    case "status":
    case "touch":
    case "foreigner":
    case "forge":
    case "autoscale":
      return { verb, object, value };
    case "editChild":
    case "deleteChild":
    case "contest":
      return { verb, object, pick: random.below(2 ** 16) };
    default:
      return { verb, object, wish };
  }
}

function generateWish(random: Random, value: number, { mostDelayMs }: PlanOptions): Wish {
  return {
    value,
    maps: random.below(4),
    secret: random.chance(0.4),
    service: random.chance(0.3),
    far: random.chance(0.2),
    delayMs: random.chance(0.5) ? 0 : random.below(mostDelayMs + 1),
  };
}

function generateFaults(random: Random, deck: Deck, changes: number, options: PlanOptions): PlannedFault[] {
  const kinds = deck.deal(random.chance(TWO_FAULTS) ? 2 : 1);
  const [shortest, longest] = options.faultSeconds;
  return kinds.map((kind) => ({
    kind,
    afterChanges: random.below(Math.ceil(changes / 2)),
    seconds: Math.round((shortest + random.next() * (longest - shortest)) * 10) / 10,
    pick: random.below(2 ** 16),
  }));
}

/** Kinds of faults as a deck of cards: they are dealt until none is left, and then shuffled again. */
class Deck {
  private cards: string[] = [];

  constructor(
    private readonly random: Random,
    private readonly kinds: readonly string[],
  ) {}

  /** This number of different cards, or fewer if there are not enough. */
  deal(count: number): string[] {
    const dealt: string[] = [];
    while (dealt.length < Math.min(count, this.kinds.length)) {
      if (this.cards.length === 0) this.cards = this.random.shuffle(this.kinds);
      const at = this.cards.findIndex((card) => !dealt.includes(card));
      if (at < 0) this.cards = [];
      else dealt.push(...this.cards.splice(at, 1));
    }
    return dealt;
  }
}
