import type { WriteStream } from "node:tty";

/** Ways to set text off. Without a terminal each gives the text as it is. */
export interface Style {
  readonly dim: (text: string) => string;
  readonly bold: (text: string) => string;
  readonly red: (text: string) => string;
  readonly green: (text: string) => string;
  readonly yellow: (text: string) => string;
}

/** SGR parameters: on, off. */
const CODES = { dim: [2, 22], bold: [1, 22], red: [31, 39], green: [32, 39], yellow: [33, 39] } as const;

/** The style for a stream: colours on a terminal, unless NO_COLOR is set (https://no-color.org). */
export function styleFor(
  stream: Pick<WriteStream, "isTTY">,
  environment: NodeJS.ProcessEnv = process.env,
): Style {
  const coloured = stream.isTTY && !environment.NO_COLOR;
  const paint = (name: keyof typeof CODES) => {
    const [on, off] = CODES[name];
    return (text: string) => (coloured ? `\u001b[${on}m${text}\u001b[${off}m` : text);
  };
  return {
    dim: paint("dim"),
    bold: paint("bold"),
    red: paint("red"),
    green: paint("green"),
    yellow: paint("yellow"),
  };
}
