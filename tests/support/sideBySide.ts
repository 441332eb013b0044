/**
 * Tests that wait most of their time, such as for the end of a lease, and have nothing to do with each other: they are all
 * begun together, and each is reported as a test of its own.
 * @param scenes what each test does, by its title
 */
export function sideBySide(scenes: Readonly<Record<string, () => Promise<unknown>>>): void {
  const played = new Map<string, Promise<unknown>>();
  before(() => {
    for (const [title, play] of Object.entries(scenes)) {
      const playing = play();
      // The test that awaits this reports the failure.
      playing.catch(() => {});
      played.set(title, playing);
    }
  });
  for (const title of Object.keys(scenes)) it(title, () => played.get(title));
  // Those that no test awaits: after a time limit, or where only some tests were asked for.
  after(() => Promise.allSettled(played.values()));
}
