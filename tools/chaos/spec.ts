/** What the handler does instead of answering well, as long as it is told to. */
export const TROUBLES = ["crash", "hang", "garbage", "error"] as const;

/** One of {@link TROUBLES}. */
export type Trouble = (typeof TROUBLES)[number];

/** What a change wishes of an object's children. */
export interface Wish {
  /** The number of the change: no two are the same. */
  readonly value: number;
  /** How many ConfigMaps. */
  readonly maps: number;
  readonly secret: boolean;
  readonly service: boolean;
  /** Whether one more ConfigMap is in another namespace, where no owner reference reaches. */
  readonly far: boolean;
  /** How long the handler thinks. */
  readonly delayMs: number;
}

/** The spec of an object. Every field is always set, so that no way of writing leaves an old one behind. */
export interface ChaosSpec extends Omit<Wish, "far"> {
  /** The other namespace; "" for none. */
  readonly far: string;
  /** What the handler does until {@link until}. "" for nothing. */
  readonly trouble: Trouble | "";
  /** Milliseconds since 1970; 0 for never. */
  readonly until: number;
}
