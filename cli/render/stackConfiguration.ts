import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { parseDocument, visit } from "yaml";
import { isRecord } from "../../runtime/base/json";
import { CommandError } from "../common/commandError";

/** A Pulumi project and one stack's configuration, as Pulumi would give them to the program. */
export interface StackConfiguration {
  readonly project: string;
  /** The place of the program, relative to the project's folder. @default the folder itself */
  readonly main?: string;
  readonly stack: string;
  /** Text by key with the project's prefix. */
  readonly values: Readonly<Record<string, string>>;
}

/**
 * Reads Pulumi.yaml's defaults and a stack's file.
 * @throws CommandError if the stack has no file, or if Pulumi would read it differently: encrypted values, environments
 */
export function readStackConfiguration(folder: string, stack: string): StackConfiguration {
  const project = readYamlFile(path.join(folder, "Pulumi.yaml"));
  if (typeof project.name !== "string") {
    throw new CommandError("Pulumi.yaml: name is missing. Give the project a name.");
  }
  const { name, main } = project;
  refuseOtherLanguages(project.runtime);
  const file = path.join(folder, `Pulumi.${stack}.yaml`);
  if (!existsSync(file)) {
    const known = readdirSync(folder).flatMap((each) => /^Pulumi\.(.+)\.yaml$/.exec(each)?.[1] ?? []);
    const remedy =
      known.length > 0
        ? `Stacks with a file: ${known.join(", ")}. Name one of them with --stack.`
        : "No stack has a file yet. Create the file with this line: config: {}";
    throw new CommandError(`Pulumi.${stack}.yaml is missing. ${remedy}`);
  }
  const { config, environment } = readYamlFile(file);
  if (environment !== undefined) {
    throw new CommandError(
      `${path.basename(file)}: environment names values that are kept in Pulumi Cloud, and only Pulumi can read them. ` +
        "Write what the program needs into config, or use pulumi preview.",
    );
  }
  const values = {
    ...configurationOf(project.config, name, "Pulumi.yaml", defaultOf),
    ...configurationOf(config, name, path.basename(file), (value) => value),
  };
  return { project: name, stack, values, ...(typeof main === "string" && { main }) };
}

/** Only a program in Node's languages can be run here. */
function refuseOtherLanguages(runtime: unknown): void {
  const name = isRecord(runtime) ? runtime.name : runtime;
  if (name === "nodejs") return;
  throw new CommandError(
    `Pulumi.yaml: runtime is ${JSON.stringify(name ?? null)}. Only programs of the runtime nodejs can be run without Pulumi. ` +
      "Use pulumi preview.",
  );
}

function configurationOf(
  config: unknown,
  project: string,
  file: string,
  read: (declared: unknown) => unknown,
): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [key, declared] of Object.entries(isRecord(config) ? config : {})) {
    const value = read(declared);
    const fullKey = key.includes(":") ? key : `${project}:${key}`;
    refuseEncrypted(value, `${file}: ${fullKey}`);
    if (value !== undefined) values[fullKey] = textOf(value);
  }
  return values;
}

/** A value as Pulumi gives it to a program (sdk/go/common/resource/config/object.go, MarshalString). No value becomes "". */
function textOf(value: unknown): string {
  return typeof value === "string" ? value : value === null ? "" : JSON.stringify(value);
}

/** In Pulumi.yaml a key is declared with a type and a default, or given with a value; a bare value is a default. */
function defaultOf(declared: unknown): unknown {
  if (!isRecord(declared)) return declared;
  return declared.value ?? declared.default;
}

/** Pulumi writes `secure: <ciphertext>` for an encrypted value, at any depth. */
function refuseEncrypted(value: unknown, place: string): void {
  if (Array.isArray(value)) {
    for (const each of value) refuseEncrypted(each, place);
  } else if (isRecord(value)) {
    if (typeof value.secure === "string" && Object.keys(value).length === 1) {
      throw new CommandError(
        `${place} is encrypted, and only Pulumi can read it, so the rendered objects would differ from those of pulumi up. ` +
          "Put the value into a Secret of the cluster and refer to the Secret by name, or use pulumi preview.",
      );
    }
    for (const each of Object.values(value)) refuseEncrypted(each, place);
  }
}

function readYamlFile(file: string): Record<string, unknown> {
  const name = path.basename(file);
  try {
    const document = parseDocument(readFileSync(file, "utf8"));
    const [error] = document.errors;
    if (error) throw error;
    visit(document, {
      Scalar(_, { value, source = "" }) {
        // Go reads 017 as 15, unlike YAML 1.2.
        if (typeof value === "number" && source !== String(value)) {
          throw new Error(`${source} can be read in two ways. Write ${value}, or quote it.`);
        }
      },
    });
    const content: unknown = document.toJS();
    return isRecord(content) ? content : {};
  } catch (error) {
    throw new CommandError(`${name} cannot be read: ${(error as Error).message}`);
  }
}
