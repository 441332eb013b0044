import { realpathSync } from "node:fs";

/** The path of a file or folder without symbolic links. The same path if nothing exists there, or if it cannot be followed. */
export function realPath(place: string): string {
  try {
    return realpathSync(place);
  } catch {
    return place;
  }
}
