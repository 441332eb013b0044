import type { KubernetesObject } from "../runtime/program";
import { HALVES, type Half } from "./halves";
import type { Findings, Look } from "./lookInCluster";
import { ifGivenUp, isGoing, makerOf } from "./makers";

/** A program, and what it is about to make. */
export interface ExpectedProgram {
  /** The program as "project/stack". */
  readonly program: string;
  /** Whether a component of the program makes the object of this kind and name, now or a little later. */
  readonly makes: Makes;
}

/** Whether a program makes an object. */
export type Makes = (
  object: Pick<KubernetesObject, "kind"> & { metadata: { name: string } },
) => Promise<boolean>;

/**
 * Checks that the program still makes the namespaces and the CRDs of Argo that bear its mark. Pulumi would delete all others, and
 * with them what users have put into these namespaces, and every object of Argo's kinds in the whole cluster.
 */
export async function checkLosses(look: Look, { program, makes }: ExpectedProgram): Promise<Findings> {
  const all = (await look.platformObjects()) ?? [];
  const ours = all.filter((object) => makerOf(object) === program && !isGoing(object));
  const made = await Promise.all(ours.map(makes));
  const lost = ours.filter((_, index) => !made[index]);
  return {
    problems: [
      ...HALVES.filter((half) => lost.some((object) => isDefinitionOf(half, object))).map(lossOfDefinitions),
      ...lost.filter(({ kind }) => kind === "Namespace").map(lossOfNamespace),
    ],
  };
}

const KEEPING = 'docs/configuration.md, "What cannot change later", says how to keep them';

function isDefinitionOf({ product }: Half, { kind, metadata }: KubernetesObject): boolean {
  return kind === "CustomResourceDefinition" && metadata.labels?.["app.kubernetes.io/name"] === product;
}

function lossOfDefinitions({ argument, title, product }: Half): string {
  const selector = `app.kubernetes.io/name=${product},app.kubernetes.io/component=definitions`;
  return (
    `this stack has installed the CRDs of ${title}, and would now delete them, with all their objects in the whole cluster: no ` +
    `platform of the program has ${argument} "install". Set it to "install" again. ${KEEPING}. If they may be deleted: ` +
    ifGivenUp(`crd --selector ${selector}`)
  );
}

function lossOfNamespace({ metadata: { name } }: KubernetesObject): string {
  return (
    `this stack has created the namespace ${name}, and would now delete it, with everything in it: no platform of the program ` +
    "creates it. Undo the change of namespace, controllerNamespace or createNamespaces, or of who installs the controllers. " +
    `${KEEPING}. If it may be deleted: ${ifGivenUp(`namespace ${name}`)}`
  );
}
