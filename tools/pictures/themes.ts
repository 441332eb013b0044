/** The colours of a picture. */
export interface Theme {
  readonly name: "light" | "dark";
  readonly text: string;
  /** Of what is said in smaller letters. */
  readonly quiet: string;
  readonly line: string;
  /** Of boxes. */
  readonly surface: string;
  readonly border: string;
  /** Of what is Argosy's. */
  readonly accent: string;
  readonly accentSurface: string;
  /** Of what is Argo's, and may be left out. */
  readonly option: string;
  readonly optionSurface: string;
  readonly good: string;
  readonly window: string;
}

export const THEMES: readonly Theme[] = [
  {
    name: "light",
    text: "#1c2733",
    quiet: "#52616f",
    line: "#6b7a88",
    surface: "#f6f8fa",
    border: "#c5ced6",
    accent: "#0a5f86",
    accentSurface: "#e3f1f8",
    option: "#a5560b",
    optionSurface: "#fdf1e3",
    good: "#18794e",
    window: "#f6f8fa",
  },
  {
    name: "dark",
    text: "#e6edf3",
    quiet: "#9aa7b4",
    line: "#8494a3",
    surface: "#1b222b",
    border: "#3a4552",
    accent: "#6cc4e8",
    accentSurface: "#12303f",
    option: "#f0a860",
    optionSurface: "#38270f",
    good: "#4cc38a",
    window: "#161b22",
  },
];

export const SANS = "-apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
export const MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace";

/** Text as it stands in XML. */
export function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
