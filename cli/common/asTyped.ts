import { isCompiled } from "../../components/assets";
import { PACKAGE_NAME } from "../../components/package";
import type { HandlersOptions } from "./options";
import { shellWord } from "./shellWord";

/**
 * A command of argosy as it is typed in a shell. `argosy` itself is not on the PATH, and without the package installed,
 * `npx argosy` would fetch another author's package.
 *
 * @param options the choice of operators, which the command needs too
 */
export function asTyped(words: string, { handlers, project }: HandlersOptions = {}): string {
  const choice = Object.entries({ handlers, project })
    .map(([name, value]) => (value === undefined ? "" : ` --${name} ${shellWord(value)}`))
    .join("");
  return `${isCompiled() ? `npx ${PACKAGE_NAME}` : "npm run argosy --"} ${words}${choice}`;
}
