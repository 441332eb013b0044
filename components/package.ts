import { name, version } from "../package.json";

/** The name of this package on npm. */
export const PACKAGE_NAME = name;

/** The version of this package. */
export const ARGOSY_VERSION = version;
