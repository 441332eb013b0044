import type { KubernetesObject } from "../runtime/program";
import { HALVES, type Half } from "./halves";
import type { Findings, Look } from "./lookInCluster";
import { ifGivenUp, isGoing, makerOf } from "./makers";

/** A program, and what it is about to make. */
export interface ExpectedProgram {
  /** The program as "organization/project/stack". */
  readonly program: string;
  /** Whether this process runs the whole program. A plugin runs one component after another, each for a program elsewhere. */
  readonly isWhole: boolean;
  /** Whether a component of the program creates the object of this kind and name, now or a little later. */
  readonly makes: Makes;
}

/** Whether a program creates an object. */
export type Makes = (
  object: Pick<KubernetesObject, "kind"> & { metadata: { name: string } },
) => Promise<boolean>;

/**
 * Checks that the program still makes the namespaces and the CRDs of Argo that bear its mark. Pulumi would delete all others, and
 * with them what users have put into these namespaces, and every object of Argo's kinds in the whole cluster. A process that does not
 * see the whole program cannot prove a loss, because another component may come after this one: the loss is a warning.
 */
export async function checkLosses(
  look: Look,
  { program, isWhole, makes }: ExpectedProgram,
): Promise<Findings> {
  const all = await Promise.all([look.argoDefinitions(), look.namespaces()]);
  const ours = all
    .flatMap((objects) => objects ?? [])
    .filter((object) => makerOf(object) === program && !isGoing(object));
  const made = await Promise.all(ours.map(makes));
  const lost = ours.filter((_, index) => !made[index]);
  const losses = [
    ...HALVES.filter((half) => lost.some((object) => isDefinitionOf(half, object))).map(lossOfDefinitions),
    ...lost.filter(({ kind }) => kind === "Namespace").map(lossOfNamespace),
  ];
  const say = (sentence: typeof refusalOf) => losses.map((loss) => sentence(loss, namesakeOf(program, loss)));
  return isWhole ? { problems: say(refusalOf) } : { problems: [], warnings: say(warningOf) };
}

/** Objects that Pulumi deletes if no platform of the program creates them, in words. */
interface Loss {
  /** The objects: "the namespace argosy". */
  readonly objects: string;
  /** What the stack did: "created". */
  readonly done: string;
  /** What is deleted with the objects: "everything in it". */
  readonly content: string;
  /** What a platform does that keeps the objects: "creates it". */
  readonly keeps: string;
  /** How the program keeps the objects. */
  readonly undo: string;
  /** How the objects may be deleted. */
  readonly giveUp: string;
}

function isDefinitionOf({ product }: Half, { kind, metadata }: KubernetesObject): boolean {
  return kind === "CustomResourceDefinition" && metadata.labels?.["app.kubernetes.io/name"] === product;
}

function lossOfDefinitions({ argument, title, product }: Half): Loss {
  const selector = `app.kubernetes.io/name=${product},app.kubernetes.io/component=definitions`;
  return {
    objects: `the CRDs of ${title}`,
    done: "installed",
    content: "all their objects in the whole cluster",
    keeps: `has ${argument} "install"`,
    undo: `Set ${argument} to "install" again.`,
    giveUp: `If they may be deleted: ${ifGivenUp(`crd --selector ${selector}`)}`,
  };
}

function lossOfNamespace({ metadata: { name } }: KubernetesObject): Loss {
  return {
    objects: `the namespace ${name}`,
    done: "created",
    content: "everything in it",
    keeps: "creates it",
    undo: "Undo the change of namespace, controllerNamespace or createNamespaces, or of who installs the controllers.",
    giveUp: `If it may be deleted: ${ifGivenUp(`namespace ${name}`)}`,
  };
}

const KEEPING =
  "https://github.com/argosy-dev/argosy/blob/main/docs/configuration.md#what-cannot-change-later says how to keep them.";

/**
 * Whose the objects may be instead. Backends without organizations all call theirs "organization", so two stacks may have one name.
 * @returns a sentence and a space, or nothing
 */
function namesakeOf(program: string, { objects, done }: Loss): string {
  if (!program.startsWith("organization/")) return "";
  return (
    `If a stack of the name ${program} in another backend of Pulumi ${done} ${objects}, rename this stack: pulumi stack ` +
    "rename. "
  );
}

function refusalOf({ objects, done, content, keeps, undo, giveUp }: Loss, namesake: string): string {
  return (
    `pulumi up would delete ${objects} that this stack ${done}, with ${content}, because no platform of the program ${keeps}. ` +
    `${undo} If the program creates such a platform, but only after it has awaited an output of another component, create the ` +
    `platform first, and await the output after that. ${KEEPING} ${namesake}${giveUp}`
  );
}

function warningOf({ objects, done, content, keeps, undo }: Loss, namesake: string): string {
  return (
    `pulumi up deletes ${objects} that this stack ${done}, with ${content}, unless a platform of a later component of ` +
    `the program ${keeps}. If there is no such platform, these objects are lost. ${undo} ${namesake}${KEEPING}`
  );
}
