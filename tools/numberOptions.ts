import { InvalidArgumentError } from "commander";

/** An option's value that counts something, 0 included. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("It must be a whole number, 0 or more.");
  return Number(text);
}

/** An option's value that counts what must be there. */
export function positiveInteger(text: string): number {
  if (!/^[1-9]\d*$/.test(text)) throw new InvalidArgumentError("It must be a whole number above 0.");
  return Number(text);
}
