/**
 * Remembers environment variables as they are now, for a test that is about to set them.
 *
 * @returns puts each of them back. In `process.env` itself: a copy in its place is not what `os.tmpdir()` and others read.
 */
export function rememberVariables(...names: readonly string[]): () => void {
  const before = names.map((name) => [name, process.env[name]] as const);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
