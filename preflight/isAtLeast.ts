/** Whether a version such as "1.26.8", "1.26rc1" or "3.10.4" is `minimum` ("1.26") or later. Only its first two parts count. */
export function isAtLeast(version: string, minimum: string): boolean {
  const [major = 0, minor = 0] = version.split(/[^0-9]+/).map(Number);
  const [minimumMajor = 0, minimumMinor = 0] = minimum.split(".").map(Number);
  return major > minimumMajor || (major === minimumMajor && minor >= minimumMinor);
}
