import type { ReconcileReport } from "../../runtime/cli";
import { printAbove, type Style } from "../common/terminal";
import { Footer, type Screen } from "./footer";
import { ObjectRows } from "./objectRows";
import { renderTable } from "./objectTable";
import type { Running } from "./workshop";

/** A table of all objects at the bottom of the terminal, below the lines of the log. */
export class LiveTable {
  private readonly rows = new ObjectRows();
  private readonly footer: Footer;
  private readonly printAsBefore: () => void;

  /** @param running the operators that run now */
  constructor(
    screen: Screen,
    private readonly running: () => readonly Running[],
    private readonly style: Style,
  ) {
    this.footer = new Footer({ screen, frame: (width, height) => this.frame(width, height) });
    this.printAsBefore = printAbove(this.footer.write);
  }

  /** Updates the table with the report of a run. */
  report(report: ReconcileReport): void {
    this.rows.report(report);
    this.footer.changed();
  }

  /** Removes the table for good. */
  close(): void {
    this.printAsBefore();
    this.footer.close();
  }

  private frame(width: number, height: number): string[] {
    const sources = this.running().map(({ operator, controller }) => ({
      operator: operator.name,
      kind: operator.customResource.kind,
      objects: controller.objects(),
    }));
    const rows = this.rows.rows(sources);
    if (height < ROOMY) return renderTable(rows, width, height, this.style);
    const lines = renderTable(rows, width, height - 1, this.style);
    // A line separates the table from the log.
    return lines.length > 0 ? [this.style("dim", "─".repeat(width)), ...lines] : [];
  }
}

/** The least height of a table with a separating line. */
const ROOMY = 5;

/**
 * Whether a table that is drawn again and again can be shown: on a terminal with a movable cursor, for a user who wants colours.
 * A log of CI, a file or a pipe gets only lines.
 */
export function canShowTable(
  stream: Pick<NodeJS.WriteStream, "isTTY">,
  { TERM, CI, NO_COLOR }: NodeJS.ProcessEnv,
): boolean {
  return stream.isTTY === true && TERM !== "dumb" && !CI && !NO_COLOR;
}
