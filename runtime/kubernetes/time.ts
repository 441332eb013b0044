/** A moment as Kubernetes writes it (`metav1.Time`): RFC 3339, whole seconds. */
export function timeOf(date: Date): string {
  return date.toISOString().replace(/\.\d+Z$/, "Z");
}

/** The same with microseconds (`metav1.MicroTime`), of which we know the thousands. */
export function microTimeOf(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}
