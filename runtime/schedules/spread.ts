/** A number from 0 to 1 that follows only from the key (FNV-1a). */
export function spread(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193) >>> 0;
  return hash / 2 ** 32;
}
