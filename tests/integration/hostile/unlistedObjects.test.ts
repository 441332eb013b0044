import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { Manifest } from "../../../runtime/base/objects";
import { eventually } from "../../support/eventually";
import { ApiProxy, type ProxiedRequest, type Refusal } from "../support/apiProxy";
import { configMap, inNamespace, job } from "../support/manifests";
import { type OperatorScene, withOperators } from "../support/operatorEach";
import { answering } from "../support/useOperator";

const CHILDREN = [
  { apiVersion: "batch/v1", kind: "Job", update: "recreate" as const },
  { apiVersion: "v1", kind: "ConfigMap" },
];
/** How long the work in progress may take when a test has ended. */
const GRACE_MS = 1_000;
const RESYNC_SECONDS = 10;
/** A resync has come by then, and has read every object. */
const RESYNCED_MS = 1.5 * RESYNC_SECONDS * 1_000;
const FORBIDDEN: Refusal = {
  code: 403,
  body: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    message: "forbidden",
    code: 403,
  }),
};

/** What happens to the lists and watches of the operator's own kind. */
interface Trouble {
  readonly list?: Refusal | "cut";
  readonly watch?: Refusal | "cut" | "silent";
  /** How often the handler may be asked about an object that is gone. */
  readonly mostCalls: number;
}

/** An operator whose engine lists and watches its own kind at first, and then no more. */
function scene(suffix: string, { list, watch, mostCalls }: Trouble): OperatorScene {
  const options = { name: `unlisted-own-${suffix}`, children: CHILDREN, resyncSeconds: RESYNC_SECONDS };
  return {
    options,
    play: async (operator) => {
      const { api, connection } = operator.cluster;
      const namespace = await api.newNamespace(options.name);
      const proxy = await ApiProxy.start(connection);
      try {
        const engine = operator.launch({ connection: proxy.through(operator.connection) });
        await eventually(() => assert.ok(engine.controller.isLeading, "does not lead"));
        const children = (step: string): Manifest[] => [
          job("dies", "example.com/worker:1"),
          configMap("dies", { step }),
        ];
        const apply = (step: string) =>
          api.apply(operator.object("dies", answering(...children(step)), namespace));
        await apply("1");
        const [theJob, theConfigMap] = children("1").map((child) => inNamespace(child, namespace));
        assert.ok(theJob && theConfigMap);
        await eventually(() => api.get(theJob));
        proxy.before = async (request) => {
          if (!isOfOwn(request, operator.operator.customResource.plural)) return undefined;
          if (!request.path.includes("watch=true")) return list;
          return watch === "silent" ? new Promise(() => {}) : watch;
        };
        await sleep(RESYNCED_MS);

        const object = await apply("2");
        if (watch !== "silent")
          await eventually(
            async () => assert.deepEqual((await api.get(theConfigMap))["data"], { step: "2" }),
            {
              timeoutMs: 2 * RESYNCED_MS,
            },
          );

        await api.delete(object);
        await eventually(() => api.assertGone(object));
        const calls = operator.calls("dies").length;
        const before = proxy.requests.length;
        await sleep(RESYNCED_MS);
        const written = proxy.requests
          .slice(before)
          .filter(({ method, path }) => method !== "GET" && /\/(configmaps|jobs)\/dies/.test(path));
        assert.deepEqual(written, [], "a child of an object that is gone is written");
        const asked = operator.calls("dies").length - calls;
        assert.ok(asked <= mostCalls, `the handler is asked ${asked} times about an object that is gone`);
        proxy.before = () => undefined;
        const next = await apply("3");
        await eventually(async () => assert.deepEqual((await api.get(theConfigMap))["data"], { step: "3" }));
        assert.notEqual(next.metadata.uid, object.metadata.uid);
      } finally {
        // Before the proxy: an engine that cannot give its lease back waits.
        await operator.dispose(GRACE_MS);
        await proxy.stop();
      }
    },
  };
}

/** Whether it lists or watches the operator's own kind. */
function isOfOwn({ path }: ProxiedRequest, plural: string): boolean {
  return path.split("?")[0]?.endsWith(`/${plural}`) === true;
}

describe("where the objects can no longer be listed, they are reconciled as they are, and no child of one that is gone comes back", function () {
  this.timeout(180_000);

  withOperators({
    "because each of their lists is cut": scene("cut", { list: "cut", mostCalls: 0 }),
    "because their lists and watches are refused": scene("refused", {
      list: FORBIDDEN,
      watch: FORBIDDEN,
      mostCalls: 0,
    }),
    "nor watched, as the watch is silent": scene("silent", { watch: "silent", mostCalls: 1 }),
  });
});
