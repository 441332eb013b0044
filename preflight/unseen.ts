// The one place that says what an unknown answer means.
import type { Look } from "./lookInCluster";

/** What each question is about, in words. */
const SUBJECTS: { readonly [Question in keyof Look]: (...args: Parameters<Look[Question]>) => string } = {
  crd: (name) => `the CRD ${name}`,
  namespace: (name) => `the namespace ${name}`,
  serviceAccount: (namespace, name) => `the service account ${name} in ${namespace}`,
  clusterRole: (name) => `the ClusterRole ${name}`,
  operatorDefinitions: () => "the CRDs of operators that are no longer in the program",
  platformData: () => "the namespaces and CRDs of platforms that are no longer in the program",
  countOf: ({ kind }) => `the objects of the kind ${kind}`,
  hasSecret: (namespace, name) => `the Secret ${name} in ${namespace}`,
  keepsImageVolumes: () => "whether there are image volumes",
  workflowControllers: () => "the configuration of Workflow controllers",
};

/**
 * Lets checks ask, and names what the cluster did not show. An unknown answer means the same to every check: nothing is refused
 * because of it, and the user is told that it was not seen.
 */
export async function notingUnseen<T>(
  look: Look,
  find: (look: Look) => Promise<T>,
): Promise<{ readonly found: T; readonly unseen: readonly string[] }> {
  const unseen = new Set<string>();
  const noting = Object.fromEntries(
    Object.entries(SUBJECTS).map(([question, subject]) => [
      question,
      async (...args: never[]) => {
        const answer = await (look[question as keyof Look] as (...args: never[]) => Promise<unknown>)(
          ...args,
        );
        if (answer === undefined) unseen.add((subject as (...args: never[]) => string)(...args));
        return answer;
      },
    ]),
  ) as unknown as Look;
  const found = await find(noting);
  return { found, unseen: [...unseen] };
}
