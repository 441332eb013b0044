import assert from "node:assert/strict";
import * as pulumi from "@pulumi/pulumi";
import { runProgram } from "../../cli/render/runProgram";
import { noteNoPromiseStacks, noteNoResourceStacks } from "../../cli/render/stackTraces";
import { errorOf } from "./support/failures";

/** A module like that of the SDK. @param debugPromiseLeaks whether its traces are printed */
function sdkThat(debugPromiseLeaks: boolean) {
  return {
    debugPromiseLeaks,
    debuggablePromise: (promise: object, context: string): object =>
      Object.assign(promise, { trace: new Error().stack ?? "", context }),
  };
}

const PLACE = /^\s+at .*stackTraces\.test/m;

describe("the promises of Pulumi's SDK", () => {
  it("note no stack trace, and all else", () => {
    const sdk = sdkThat(false);
    noteNoPromiseStacks(sdk);
    const limit = Error.stackTraceLimit;
    const promise = {};
    assert.equal(sdk.debuggablePromise(promise, "urn"), promise);
    assert.deepEqual(promise, { trace: "Error", context: "urn" });
    assert.equal(Error.stackTraceLimit, limit);
  });

  it("leave the next traces whole where they fail", () => {
    const sdk = sdkThat(false);
    noteNoPromiseStacks(sdk);
    const limit = Error.stackTraceLimit;
    assert.throws(() => sdk.debuggablePromise(Object.freeze({}), "urn"), TypeError);
    assert.equal(Error.stackTraceLimit, limit);
  });

  it("note their stack traces where PULUMI_DEBUG_PROMISE_LEAKS prints them", () => {
    const sdk = sdkThat(true);
    noteNoPromiseStacks(sdk);
    const noted = sdk.debuggablePromise({}, "urn") as { trace: string };
    assert.match(noted.trace, PLACE);
  });

  it("are those of the installed version, and are changed once, however often a program runs", async () => {
    const sdk = require("@pulumi/pulumi/runtime/debuggable");
    await runProgram(() => undefined, { project: "shop", stack: "dev", values: {} });
    const { debuggablePromise } = sdk;
    noteNoPromiseStacks(sdk);
    assert.equal(sdk.debuggablePromise, debuggablePromise, "a run has changed it already");
    assert.doesNotMatch(debuggablePromise.toString(), /leakCandidates/);
  });

  it("may be missing in another version", () => {
    for (const sdk of [undefined, {}, { debuggablePromise: 1 }]) noteNoPromiseStacks(sdk);
  });

  it("leave the stack trace of a program that fails", async () => {
    const fails = () => {
      throw new Error("a mistake in the program");
    };
    const error = await errorOf(Error, () =>
      runProgram(fails, { project: "shop", stack: "dev", values: {} }),
    );
    assert.match(error.stack ?? "", PLACE);
  });
});

describe("the resources of Pulumi's SDK", () => {
  it("note no stack trace, in the installed version", async () => {
    const stackTraces: unknown[] = [];
    const monitorOf = pulumi.runtime as unknown as { getMonitor(): Monitor };
    const program = () => {
      const monitor = monitorOf.getMonitor();
      const register = monitor.registerResource.bind(monitor);
      monitor.registerResource = (request, callback) => {
        stackTraces.push(request.toObject().stacktrace?.framesList);
        return register(request, callback);
      };
      return new pulumi.ComponentResource("shop:index:Shelf", "shelf");
    };
    await runProgram(program, { project: "shop", stack: "dev", values: {} });
    assert.deepEqual(stackTraces.at(-1), []);
  });

  it("may note none in another version", () => {
    for (const sdk of [{}, { Resource: {} }]) {
      const before = structuredClone(sdk);
      noteNoResourceStacks(sdk);
      assert.deepEqual(sdk, before);
    }
  });
});

/** The part of the SDK that tells Pulumi's engine of resources. */
interface Monitor {
  registerResource(
    request: { toObject(): { readonly stacktrace?: { readonly framesList: unknown } } },
    callback: unknown,
  ): unknown;
}
