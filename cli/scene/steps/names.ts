/** The Memcached that the scene is about. */
export const SESSIONS = "sessions";
/** The one whose handler crashes, once it is spoiled. */
export const CRASHING = "crashing";
/** The one whose handler hangs, once it is spoiled. */
export const HANGING = "hanging";
/** One that has nothing to do with the other two. */
export const BYSTANDER = "bystander";
