const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
};

/**
 * The bytes that a Kubernetes quantity such as "2Gi" or "1.5G" means, rounded down.
 *
 * @throws RangeError where it is none, or so large that a number cannot hold it
 */
export function bytesOf(quantity: string): number {
  const [, number = "", suffix = ""] = /^([0-9]+(?:\.[0-9]+)?)([a-zA-Z]{0,2})$/.exec(quantity) ?? [];
  const bytes = Math.floor(Number.parseFloat(number) * (FACTORS[suffix] ?? Number.NaN));
  if (Number.isSafeInteger(bytes)) return bytes;
  throw new RangeError(`"${quantity}" is not a size. Give a quantity, for example "2Gi".`);
}
