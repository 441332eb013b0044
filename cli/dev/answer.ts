/** What the local server answers. */
export interface Answer {
  /** The status of HTTP. */
  readonly code: number;
  /** A text for people. */
  readonly text?: string;
  /** Something for another command. */
  readonly json?: unknown;
}
