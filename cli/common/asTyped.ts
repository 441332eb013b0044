import { isCompiled } from "../../components/assets";
import { PACKAGE_NAME } from "../../components/package";

/**
 * A command of argosy as it is typed in a shell. `argosy` itself is not on the PATH, and without the package installed,
 * `npx argosy` would fetch another author's package.
 */
export function asTyped(words: string): string {
  return isCompiled() ? `npx ${PACKAGE_NAME} ${words}` : `npm run argosy -- ${words}`;
}
