import type { Report } from "../../../definition/problems";

const REMEDY = "A ConfigMap carries text: put binary files into the handler's image.";

/**
 * A file's content as text.
 * @returns undefined where it is none, which has been reported with the offset of the first byte that is wrong
 */
export function plainText(bytes: Uint8Array, report: Report): string | undefined {
  const zero = bytes.indexOf(0);
  if (zero >= 0) {
    report(`byte ${zero}`, "is zero, which no text has", REMEDY);
    return undefined;
  }
  try {
    return decoder().decode(bytes);
  } catch {
    report(`byte ${firstInvalid(bytes)}`, "is not UTF-8", REMEDY);
    return undefined;
  }
}

/** A byte order mark is part of the file, and stays. */
function decoder() {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
}

/** The decoder does not tell where it failed: the shortest beginning that it refuses ends there. */
function firstInvalid(bytes: Uint8Array): number {
  let valid = 0;
  let invalid = bytes.length + 1;
  while (invalid - valid > 1) {
    const middle = (valid + invalid) >> 1;
    if (isBeginningOfText(bytes.subarray(0, middle))) valid = middle;
    else invalid = middle;
  }
  // Where every beginning is one of a text, the last character is cut off.
  return Math.min(valid, bytes.length - 1);
}

function isBeginningOfText(bytes: Uint8Array): boolean {
  try {
    decoder().decode(bytes, { stream: true });
    return true;
  } catch {
    return false;
  }
}
