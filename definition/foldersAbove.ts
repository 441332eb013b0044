import path from "node:path";

/** A folder and all folders above it, the nearest first. */
export function foldersAbove(folder: string): string[] {
  const above = path.dirname(folder);
  return above === folder ? [folder] : [folder, ...foldersAbove(above)];
}
