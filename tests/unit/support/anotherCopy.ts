import path from "node:path";

/** A module of the components in another copy of this package: a program has two if a package of its own brings one. */
export function anotherCopy<Module>(name: string): Module {
  const folder = path.resolve(__dirname, "../../../components") + path.sep;
  const ours = Object.entries(require.cache).filter(([file]) => file.startsWith(folder));
  for (const [file] of ours) delete require.cache[file];
  try {
    return require(path.join(folder, name));
  } finally {
    Object.assign(require.cache, Object.fromEntries(ours));
  }
}
