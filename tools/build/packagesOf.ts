/**
 * The folders of the packages in a bundle, sorted: "node_modules/@pulumi/kubernetesx".
 *
 * @param inputs - files of the bundle, relative to the project's folder
 */
export function packagesOf(inputs: readonly string[]): string[] {
  const folders = inputs.flatMap(
    (input) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(input)?.[0] ?? [],
  );
  return [...new Set(folders)].sort();
}
