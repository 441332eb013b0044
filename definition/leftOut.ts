/** Names that are left out everywhere: hidden files, files that tools leave behind, editors' backups. */
const LEFT_OUT = /^(\..*|__pycache__|node_modules|.*~|#.*#|.*\.(swp|bak))$/;
/** Names that are left out at the top of an operator's folder, because Argosy itself reads them. */
const OWN = ["operator.yaml", "fixtures"];

/** Whether a file or a folder of this name is not deployed. */
export function isLeftOut(name: string, isAtTop: boolean): boolean {
  return LEFT_OUT.test(name) || (isAtTop && OWN.includes(name));
}
