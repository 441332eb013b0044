import { main } from "../../../cli/argosy";
import { type Captured, captured } from "./captured";

/** Runs a command of the command line in this process. @returns its exit code, and what it prints */
export function runArgosy(...args: readonly string[]): Promise<Captured<number>> {
  return captured(() => main([...args]));
}
