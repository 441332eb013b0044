import { configuredOperators } from "@argosy-dev/argosy";

/** The operators of `handlers/` and their platform, as the stack's configuration says. */
export = async () => {
  const { platform, crdNames } = await configuredOperators("argosy", { handlers: "./handlers" });
  return { platform, crdNames };
};
