import { EXIT_CODES } from "./commandError";
export async function init(_folder: string | undefined, _options: object): Promise<number> {
  return EXIT_CODES.fine;
}
