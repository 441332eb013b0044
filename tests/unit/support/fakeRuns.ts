import * as pulumi from "@pulumi/pulumi";

/** Lets a test be in any run of a program: each run has an address of its own. */
export function fakeRuns(): { readonly enter: (address: string) => void; readonly restore: () => void } {
  const { getMonitor, getEngine } = pulumi.runtime;
  let current = "";
  const client = () => ({ getChannel: () => ({ getTarget: () => current }) });
  Object.assign(pulumi.runtime, { getMonitor: client, getEngine: client });
  return {
    enter: (address) => {
      current = address;
    },
    restore: () => void Object.assign(pulumi.runtime, { getMonitor, getEngine }),
  };
}
