/** The ways in which the handler fails as long as the spec says so. */
export const TROUBLES = ["crash", "hang", "garbage", "error"] as const;

/** One of {@link TROUBLES}. */
export type Trouble = (typeof TROUBLES)[number];

/** The children of an object that a change asks for. */
export interface Wish {
  /** The number of the change, which is unique. */
  readonly value: number;
  /** How many ConfigMaps. */
  readonly maps: number;
  readonly secret: boolean;
  readonly service: boolean;
  /** Whether there is one more ConfigMap in another namespace, which owner references cannot cover. */
  readonly far: boolean;
  /** How long the handler takes. */
  readonly delayMs: number;
}

/** The spec of an object. Every field is always set, so that no kind of write keeps an old value. */
export interface ChaosSpec extends Omit<Wish, "far"> {
  /** The other namespace; "" for none. */
  readonly far: string;
  /** The handler's failure until {@link until}. "" for none. */
  readonly trouble: Trouble | "";
  /** Milliseconds since 1970; 0 for never. */
  readonly until: number;
}
