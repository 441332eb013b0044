import { cp, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { type ScratchFolder, scratchFolder } from "../common/scratchFolder";

/** The place of the author's edits, and the text there. */
const ENTRANCE = "def reconcile(request):\n";

/** The copy has a finalize function, so that the scene can show a finalizer. */
const FINALIZE = `

def finalize(request):
    return {"finalized": True}
`;

/** Mistakes that authors make, only for objects with these names. */
const MISTAKES = `    if request["object"]["metadata"]["name"] == "crashing":
        raise RuntimeError("a mistake in the handler")
    if request["object"]["metadata"]["name"] == "hanging":
        import time
        time.sleep(3600)
`;

/** A copy of Memcached's folder in a temporary folder, for the scene to edit as its author would. */
export class HandlerCopy {
  private constructor(
    private readonly scratch: ScratchFolder,
    private readonly original: string,
  ) {}

  /** @throws Error if the handler's text does not fit the edits */
  static async of(handlerFolder: string): Promise<HandlerCopy> {
    const scratch = scratchFolder("argosy-scene");
    await cp(handlerFolder, scratch.path, { recursive: true });
    const copy = new HandlerCopy(scratch, await readFile(path.join(handlerFolder, "main.py"), "utf8"));
    await copy.mend();
    return copy;
  }

  /** The folder of the copy. */
  get folder(): string {
    return this.scratch.path;
  }

  /** Adds the mistakes: from now on the handler raises an exception for the object "crashing" and hangs for "hanging". */
  spoil(): Promise<void> {
    return this.write(MISTAKES);
  }

  /** Removes the mistakes. */
  mend(): Promise<void> {
    return this.write("");
  }

  /** Removes the folder. */
  remove(): void {
    this.scratch.remove();
  }

  private async write(lines: string): Promise<void> {
    const edited = this.original.replace(ENTRANCE, ENTRANCE + lines);
    if (!this.original.includes(ENTRANCE))
      throw new Error(`${this.folder}/main.py has no "${ENTRANCE.trim()}"`);
    await writeFile(path.join(this.folder, "main.py"), edited + FINALIZE);
  }
}
