const FACTORS: Readonly<Record<string, number>> = {
  "": 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** The number that a quantity of any resource means: "100m" is a tenth. Undefined if the text is no quantity. */
export function amountOf(quantity: string): number | undefined {
  const [, number = "", suffix = ""] = /^([0-9]+(?:\.[0-9]+)?)([a-zA-Z]{0,2})$/.exec(quantity) ?? [];
  const amount = Number.parseFloat(number) * (FACTORS[suffix] ?? Number.NaN);
  return Number.isFinite(amount) ? amount : undefined;
}
