import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { Socket } from "node:net";

/**
 * How a named pipe is opened. No way of them waits for the other side.
 * "read": ends once the last writer has gone, also where none has come yet.
 * "write": fails with ENXIO where nobody reads: the other side is not there.
 * "feed": for a reader that is still to come. It holds what is written meanwhile.
 */
export type PipeUse = "read" | "write" | "feed";

const FLAGS: Record<PipeUse, number> = {
  read: constants.O_RDONLY,
  write: constants.O_WRONLY,
  feed: constants.O_RDWR,
};

/**
 * Opens a named pipe, for one direction. A socket and not a file stream: the open end of a pipe that nothing comes
 * through would hold one of Node's few threads.
 * @throws NodeJS.ErrnoException where it cannot be opened, or is something else: the handler can write to the folder,
 *   and a link in it could lead to what only the runner may read
 */
export function openNamedPipe(path: string, use: PipeUse): Socket {
  const fd = openSync(path, FLAGS[use] | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(fd).isFIFO()) throw new Error(`${path} is not a named pipe`);
    const socket = new Socket({ fd, readable: use === "read", writable: use !== "read" });
    // What matters of an error is that the pipe closes.
    socket.on("error", () => {});
    return socket;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}
