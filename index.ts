import { ArgoPlatform, loadOperators, Operators, showUserErrors } from "@argosy-dev/argosy";
import { readStack } from "./program/stack";

/** The operators of `handlers/` and what they stand on, as the stack's configuration has it: see Pulumi.yaml. */
export = showUserErrors(async () => {
  const stack = await readStack();
  if (stack.parts === "platform") {
    const { platform } = new ArgoPlatform("argosy", stack.platform);
    return { platform };
  }
  const { platform, customResources } = new Operators("argosy", {
    ...stack.operators,
    definitions: loadOperators("./handlers", { installation: stack.installation }),
  });
  return { platform, customResources };
});
