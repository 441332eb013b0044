/** The part of Pulumi's SDK that handles each of its promises. */
interface Debuggable {
  /** Whether the stacks are printed. */
  readonly debugPromiseLeaks: boolean;
  debuggablePromise: (...args: readonly unknown[]) => unknown;
}

const lightened = new WeakSet<Debuggable>();

/**
 * Lets Pulumi's SDK record no stack trace for each of its promises. It would print them only if PULUMI_DEBUG_PROMISE_LEAKS is
 * set. In that case, and in versions without such a function, nothing changes. With the source maps of a program in TypeScript
 * the traces take a third of a program's time.
 *
 * @param sdk the module "@pulumi/pulumi/runtime/debuggable" of the copy of the SDK that runs the program
 */
export function noteNoPromiseStacks(sdk: unknown): void {
  if (!isDebuggable(sdk) || sdk.debugPromiseLeaks || lightened.has(sdk)) return;
  lightened.add(sdk);
  const whole = sdk.debuggablePromise;
  sdk.debuggablePromise = (...args) => {
    const limit = Error.stackTraceLimit;
    Error.stackTraceLimit = 0;
    try {
      return whole(...args);
    } finally {
      Error.stackTraceLimit = limit;
    }
  };
}

function isDebuggable(sdk: unknown): sdk is Debuggable {
  return typeof (sdk as Partial<Debuggable> | undefined)?.debuggablePromise === "function";
}

/**
 * Lets Pulumi's SDK record no stack trace for each resource. It tells the trace only to Pulumi's engine. With the source maps of a
 * program in TypeScript the traces take a tenth of a program's time. In versions without such a function, nothing changes.
 *
 * @param sdk the copy of the SDK that runs the program
 */
export function noteNoResourceStacks(sdk: unknown): void {
  const { Resource } = sdk as { readonly Resource?: { stackTrace?: unknown } };
  // The SDK itself says so of a trace that is too short.
  if (typeof Resource?.stackTrace === "function") Resource.stackTrace = () => [];
}
