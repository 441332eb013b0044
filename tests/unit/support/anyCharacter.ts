import fc from "fast-check";

/** No text has one alone. */
const SURROGATES = { from: 0xd800, count: 0x800 };
const COUNT = 0x110000 - SURROGATES.count;

/**
 * Any character of Unicode: the same ones, in the same order, as fast-check's own unit "binary". That one first makes a table of
 * all of them, to find the number of a character, and this takes more than a second of each process of tests.
 */
export const anyCharacter = fc.nat(COUNT - 1).map(characterOf, numberOf);

function characterOf(number: number): string {
  return String.fromCodePoint(number < SURROGATES.from ? number : number + SURROGATES.count);
}

function numberOf(character: unknown): number {
  const point = String(character).codePointAt(0) ?? 0;
  const number = point < SURROGATES.from ? point : point - SURROGATES.count;
  if (characterOf(number) !== character) throw new Error(`${character} is not one character`);
  return number;
}
