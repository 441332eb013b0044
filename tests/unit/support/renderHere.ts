import { main } from "../../../cli/argosy";
import { captured } from "./captured";

/** What a command printed, and its exit code. */
export interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly status: number | null;
}

/**
 * Runs `argosy render` in this process, as if it was typed in a folder. The compiler and Pulumi's SDKs are loaded once for all
 * tests of a file so: in a process of its own, they take nearly all of the time.
 */
export async function renderHere(folder: string, ...args: string[]): Promise<Ended> {
  const before = process.cwd();
  process.chdir(folder);
  try {
    const { result, ...printed } = await captured(() => main(["render", ...args]));
    return { status: result, ...printed };
  } finally {
    process.chdir(before);
  }
}
