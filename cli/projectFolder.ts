import path from "node:path";

/** The project's folder. */
export const PROJECT_FOLDER = path.resolve(__dirname, "..");
