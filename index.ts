import { ArgoPlatform, Operators, platformOfStack } from "@argosy-dev/argosy";
import { readConfiguration } from "./program/configuration";

/** The operators of `handlers/` and their platform, as the stack's configuration says: see Pulumi.yaml. */
export = async () => {
  const { parts, platformStack = "", platform, operators } = readConfiguration();
  if (parts === "platform") {
    return { platform: new ArgoPlatform("argosy-platform", platform).platform };
  }
  const argosy = new Operators("argosy", {
    ...operators,
    handlers: "./handlers",
    platform: parts === "operators" ? await platformOfStack(platformStack) : platform,
  });
  return { platform: argosy.platform, crdNames: argosy.crdNames };
};
