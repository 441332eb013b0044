import { closeSync, constants, fstatSync, openSync, rmSync } from "node:fs";
import { Socket } from "node:net";

/**
 * How a named pipe is opened. Opening never blocks in any of these ways.
 * - "read": ends when the last writer has closed the pipe, and also if there was no writer yet.
 * - "write": fails with ENXIO if no process reads.
 * - "feed": for a reader that comes later. Until then, the pipe keeps the written bytes.
 */
export type PipeUse = "read" | "write" | "feed";

const FLAGS: Record<PipeUse, number> = {
  read: constants.O_RDONLY,
  write: constants.O_WRONLY,
  feed: constants.O_RDWR,
};

/**
 * Opens a named pipe for one direction. The stream is a socket, not a file: a file that is read would hold one of
 * Node's few threads while nothing comes.
 * @throws NodeJS.ErrnoException if it cannot be opened, or is not a pipe: the handler can write to the folder, and a link
 *   there could lead to files that only the runner may read
 */
export function openNamedPipe(path: string, use: PipeUse): Socket {
  const fd = openSync(path, FLAGS[use] | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(fd).isFIFO()) throw new Error(`${path} is not a named pipe`);
    const socket = new Socket({ fd, readable: use === "read", writable: use !== "read" });
    // An error closes the pipe, and only that matters.
    socket.on("error", () => {});
    return socket;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/**
 * Removes a name in the folder of the pipes, if it exists. A folder that the handler has put in its place stays: removing its
 * content could remove files that only the runner may remove.
 */
export function removeName(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The shell removes the folder of a session as a whole.
  }
}
