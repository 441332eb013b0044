/**
 * What kubectl, Helm and Argo CD read where a text stands without quotes in YAML. Undefined: what YAML 1.2 says. They read YAML 1.1
 * with some of 1.2 (go.yaml.in/yaml/v2, resolve.go): `0644` is 420, and `yes` is true. `1:20` is a text for them too.
 */
export function readByKubectl(plain: string): boolean | number | undefined {
  if (/^(y|Y|[yY]es|YES|[oO]n|ON)$/.test(plain)) return true;
  if (/^(n|N|[nN]o|NO|[oO]ff|OFF)$/.test(plain)) return false;
  if (!/^([-+]|\.?\d)/.test(plain)) return undefined;
  // Go itself reads what begins with a point: there, each `_` must be between two digits.
  if (plain.startsWith(".") && /\D_|_(?!\d)/.test(plain)) return undefined;
  const [, sign = "", digits = ""] = /^([-+]?)(.*)$/.exec(plain.replaceAll("_", "")) ?? [];
  const size = sizeOf(digits);
  if (size === undefined || !Number.isFinite(size)) return undefined;
  const value = sign === "-" ? -size : size;
  return value === inYaml12(plain) ? undefined : value;
}

function sizeOf(digits: string): number | undefined {
  if (/^0[0-7]+$/.test(digits)) return Number.parseInt(digits, 8);
  if (/^0(b[01]+|o[0-7]+|x[\da-f]+)$/i.test(digits)) return Number(digits);
  return FLOAT.test(digits) ? Number(digits) : undefined;
}

/** The number that a text is in YAML 1.2. Undefined if it is none. */
function inYaml12(plain: string): number | undefined {
  if (/^0(o[0-7]+|x[\da-fA-F]+)$/.test(plain)) return Number(plain);
  return FLOAT.test(plain.replace(/^[-+]/, "")) ? Number(plain) : undefined;
}

const FLOAT = /^(\.\d+|\d+(\.\d*)?)(e[-+]?\d+)?$/i;
