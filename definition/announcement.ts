import type { Manifest } from "../runtime/base/objects";
import type { Operator } from "../runtime/operator/definition";
import type { LoadOptions } from "./loadOperator";

/** What a program does with operators and with the data of their users. The program announces this to the command `argosy`, which runs the program to find out. */
export type Announcement =
  | { readonly loaded: readonly Operator[]; readonly folder: string; readonly options: LoadOptions }
  | { readonly used: readonly Operator[] }
  /** An object that stays in the cluster if it leaves the program, or that Pulumi does not delete. */
  | { readonly kept: Manifest };

type Listener = (announcement: Announcement) => void;

/** The key is the same in every copy of this package, because the command often has another copy than the program. */
const LISTENER = Symbol.for("@argosy-dev/argosy:operators");
const place = globalThis as { [LISTENER]?: Listener };

/** Makes an announcement to the command, if one listens. */
export function announce(announcement: Announcement): void {
  place[LISTENER]?.(announcement);
}

/** Runs a function, and passes all its announcements to a listener. */
export async function listening<Result>(listener: Listener, run: () => Promise<Result>): Promise<Result> {
  place[LISTENER] = listener;
  try {
    return await run();
  } finally {
    delete place[LISTENER];
  }
}
