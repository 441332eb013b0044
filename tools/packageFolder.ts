import path from "node:path";

/** The folder of this package. */
export const PACKAGE_FOLDER = path.resolve(__dirname, "..");
