import type { Change, Plan, PlannedFault, Round, Verb } from "./plan";
import { Random } from "./random";
import type { Wish } from "./spec";

/** What a plan is made of. */
export interface PlanOptions {
  readonly seed: number;
  /** How many changes in all. */
  readonly changes: number;
  /** How many names of objects there are; they all come into being and go several times. */
  readonly objects: number;
  /** So many rounds at the beginning have no fault, for comparison. */
  readonly calmRounds: number;
  /** How many changes a round has. */
  readonly changesPerRound: number;
  /** The kinds of faults: each comes once before any comes again. */
  readonly faults: readonly string[];
  /** Each fault lasts a time between these two. */
  readonly faultSeconds: readonly [shortest: number, longest: number];
  /** The longest time that the handler thinks. */
  readonly mostDelayMs: number;
}

/** How often an object that is there is changed in which way. */
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

/** How many rounds in ten have a second fault beside the first. */
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

/** Kinds of faults as cards: dealt until none is left, then shuffled again. */
class Deck {
  private cards: string[] = [];

  constructor(
    private readonly random: Random,
    private readonly kinds: readonly string[],
  ) {}

  /** So many different ones, or fewer where there are not so many. */
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
