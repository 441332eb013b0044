/** The Memcached that the scene is about. */
export const SESSIONS = "sessions";
/** The Memcached whose handler crashes after the mistakes were added. */
export const CRASHING = "crashing";
/** The Memcached whose handler hangs after the mistakes were added. */
export const HANGING = "hanging";
/** A Memcached that has nothing to do with the other two. */
export const BYSTANDER = "bystander";
