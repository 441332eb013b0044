import { type FSWatcher, watch } from "node:fs";

/** How often to look where the kernel has no watch to spare: its inotify instances are few, and all pods' together. */
const LOOK_EVERY_MS = 200;

/** Calls `changed` when something in the folder has. Returns what ends that. It keeps no program alive. */
export function watchFolder(folder: string, changed: () => void): () => void {
  let watcher: FSWatcher | undefined;
  let timer: NodeJS.Timeout | undefined;
  const lookOften = () => {
    timer ??= setInterval(changed, LOOK_EVERY_MS).unref();
  };
  try {
    watcher = watch(folder, { persistent: false }, changed);
    watcher.on("error", lookOften);
  } catch {
    lookOften();
  }
  return () => {
    watcher?.close();
    clearInterval(timer);
  };
}
