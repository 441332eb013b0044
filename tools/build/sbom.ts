// What the package and the engine are made of, in CycloneDX: by the lockfile, and by what esbuild compiled.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import path from "node:path";
import { name, version } from "../../package.json";
import type { Bundle } from "../build";
import { PACKAGE_FOLDER } from "../packageFolder";
import { packagesOf } from "./packagesOf";

/** A part, or the subject. Other fields from `npm sbom` are kept as they are. */
interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly properties: readonly { readonly name: string; readonly value: string }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly licenses?: readonly unknown[];
}

/** A bill of materials in CycloneDX 1.5. */
export interface Sbom {
  readonly serialNumber: string;
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/**
 * The bills of materials of a release, by their file names: of the package, with all that npm installs with it, and of the engine,
 * which has only what is compiled in. They are made of package-lock.json, so they are the same on every platform; they have no time.
 *
 * @param bundles - the compiled files of the package, by their names in `dist`
 * @throws Error for a package that is compiled in and that package-lock.json does not have
 */
export function sboms(bundles: Readonly<Record<string, Bundle>>): Readonly<Record<string, Sbom>> {
  const lock = readLock();
  const refOf = (folder: string) => {
    const entry = lock[folder];
    if (!entry) throw new Error(`package-lock.json has no ${folder}, which is compiled in.`);
    return referTo(folder, entry);
  };
  const compiledInto = new Map<string, string[]>();
  for (const [file, { inputs }] of Object.entries(bundles))
    for (const ref of packagesOf(inputs).map(refOf))
      compiledInto.set(ref, [...(compiledInto.get(ref) ?? []), `dist/${file}`]);

  const known = npmSbom();
  const select = (subject: Component, refs: ReadonlySet<string>, direct: readonly string[]): Sbom => {
    const components = known.components
      .filter((each) => refs.has(each["bom-ref"]))
      .map((each) => ({
        ...each,
        properties: (compiledInto.get(each["bom-ref"]) ?? []).map((value) => ({
          name: "argosy:compiled-into",
          value,
        })),
      }));
    const found = new Set(components.map((each) => each["bom-ref"]));
    const missing = [...refs].filter((ref) => !found.has(ref));
    if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(", ")}.`);
    const among = (all: readonly string[]) => all.filter((ref) => found.has(ref));
    const edges = known.dependencies.filter(({ ref }) => found.has(ref));
    return numbered({
      ...known,
      metadata: { ...known.metadata, component: subject },
      components,
      dependencies: [
        { ref: subject["bom-ref"], dependsOn: among(direct) },
        ...edges.map(({ ref, dependsOn }) => ({ ref, dependsOn: among(dependsOn) })),
      ],
    });
  };

  // npm calls it by the folder's name.
  const subject = { ...known.metadata.component, name };
  const compiledIn = [...compiledInto.keys()];
  const own = known.dependencies.find(({ ref }) => ref === subject["bom-ref"])?.dependsOn ?? [];
  // `npm sbom --omit dev` says too little: it leaves out what both a tool of ours and the package ask for.
  const installed = Object.entries(lock).filter(([folder, { dev, peer }]) => folder !== "" && !dev && !peer);
  const all = new Set([...installed.map(([folder, entry]) => referTo(folder, entry)), ...compiledIn]);
  const inEngine = compiledIn.filter((ref) => compiledInto.get(ref)?.includes("dist/engine.js"));
  const engine = {
    ...subject,
    name: `${name}/engine`,
    type: "application",
    "bom-ref": `${name}/engine@${version}`,
    hashes: [{ alg: "SHA-256", content: sha256(bundles["engine.js"]?.code ?? "") }],
  };
  return {
    "package.cdx.json": select(subject, all, [...new Set([...own, ...compiledIn])]),
    "engine.cdx.json": select(engine, new Set(inEngine), inEngine),
  };
}

/** A package in package-lock.json. */
interface Locked {
  readonly version: string;
  /** If its folder has another name. */
  readonly name?: string;
  readonly dev?: true;
  readonly peer?: true;
}

/** The packages of package-lock.json by their folders. */
function readLock(): Readonly<Record<string, Locked>> {
  return JSON.parse(readFileSync(path.join(PACKAGE_FOLDER, "package-lock.json"), "utf8")).packages;
}

/** As npm refers to a package: "ajv@8.20.0". */
function referTo(folder: string, { name: own, version: its }: Locked): string {
  return `${own ?? folder.replace(/^.*node_modules\//, "")}@${its}`;
}

/** What npm says of package-lock.json, without the time. */
function npmSbom(): Sbom {
  const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"];
  const text = execFileSync("npm", args, { cwd: PACKAGE_FOLDER, encoding: "utf8", maxBuffer: 2 ** 26 });
  const { metadata, ...sbom } = JSON.parse(text);
  const { timestamp: _, ...rest } = metadata;
  return { ...sbom, metadata: rest };
}

/** With a serial number that is the content's. */
function numbered(sbom: Sbom): Sbom {
  const { serialNumber: _, ...content } = sbom;
  const uuid = sha256(JSON.stringify(content)).replace(
    /^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/,
    "$1-$2-$3-$4-$5",
  );
  return { ...sbom, serialNumber: `urn:uuid:${uuid}` };
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
