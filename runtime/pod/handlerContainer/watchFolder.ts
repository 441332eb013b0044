import { type FSWatcher, watch } from "node:fs";

/** How often to look if the kernel has no watch left: inotify instances are few, and shared by all pods of a node. */
const LOOK_EVERY_MS = 200;

/**
 * Calls `changed` when something in the folder has changed. It keeps no process alive. @returns a function that ends the watch
 */
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
