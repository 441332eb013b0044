/** What a schema's metadata says of an argument, in addition to zod's `description`. */
export type About = {
  /** What holds if the argument is left out, unless the schema has a default: "the cluster's default". @default "none" */
  readonly otherwise?: string;
  /** The key of a stack's configuration that gives the argument. @default none */
  readonly key?: string;
  /** The name of a type: "EventBus". @default the names of the type above and of the argument */
  readonly type?: string;
  /** The type in TypeScript, if the schema cannot say it. */
  readonly typescript?: string;
};

/** The metadata of an argument that zod has no word for: `schema.meta(about({ key: "data" }))`. */
export const about = (told: About): About => told;
