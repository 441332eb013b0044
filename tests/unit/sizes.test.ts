import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import fc from "fast-check";
import { countedEachMinute } from "../../runtime/base/notices";
import type { KubernetesObject } from "../../runtime/base/objects";
import { Store } from "../../runtime/observe/store";
import { ChildStoreBench, child, manifest } from "./support/childStoreBench";
import { CONFIG_MAPS, observed, widget } from "./support/objects";
import { item as listed, ReflectorBench } from "./support/reflectorBench";
import { json, TestApiServer } from "./support/testApiServer";

/** With many objects: what is kept of each, and what each event and list costs. Counted, not timed. */
describe("the cost of size", function () {
  this.timeout(60_000);

  /** What a program of tests/unit/support prints that measures its heap. */
  async function printed(program: string): Promise<string> {
    const source = [
      "--conditions=@argosy-dev/source",
      "--require",
      join(__dirname, "../../cli/typescript.cjs"),
    ];
    const args = ["--expose-gc", ...source, join(__dirname, "support", program)];
    return (await promisify(execFile)(process.execPath, args)).stdout;
  }

  it("is little memory for a name that an object gives, since each may give hundreds of what does not exist", async () => {
    const bytes = Number(await printed("useIndexSize.ts"));
    // 164 when this was written, and 316 before.
    assert.ok(bytes < 220, `${bytes} bytes`);
  });

  it("is little memory for an object with its child, in addition to their own text", async () => {
    const stdout = await printed("storedSize.ts");
    const { bytes, length } = JSON.parse(stdout) as { bytes: number; length: number };
    // 1,500 bytes when this was written.
    assert.ok(bytes - length < 2_000, `${bytes} bytes for ${length} characters`);
  });

  it("is no look at objects of other namespaces, if one is listed again", () => {
    let looks = 0;
    const store = new Store<string>({
      client: { get: async () => undefined },
      factsOf: () => "",
      onChange: () => {},
    });
    const item = (namespace: string, name: string) =>
      observed("ConfigMap", {}, { namespace, name, uid: `${namespace}-${name}`, resourceVersion: "1" });
    const sinks = ["a", "b"].map((namespace) => {
      const sink = store.sink(CONFIG_MAPS, namespace);
      sink.listing(false, "1");
      for (let at = 0; at < 10; at++) sink.set(item(namespace, String(at)), true);
      sink.listed("1");
      return sink;
    });
    for (const stored of store.values()) {
      if (stored.namespace !== "b") continue;
      const { resourceVersion } = stored;
      Object.defineProperty(stored, "resourceVersion", { get: () => [looks++, resourceVersion][1] });
    }
    const [sink] = sinks;
    assert.ok(sink);
    sink.listing(false, "2");
    sink.set(item("a", "1"), true);
    sink.listed("2");
    assert.deepEqual([store.size, looks], [11, 0]);
  });

  it("is a notice a minute with the numbers of what was dropped, and never a loss in silence", () => {
    fc.assert(
      fc.property(fc.array(fc.option(fc.nat(30), { freq: 8 }), { maxLength: 200 }), (steps) => {
        const told: ReadonlyMap<string, number>[] = [];
        let flush = () => {};
        const count = countedEachMinute(
          (counts) => void told.push(counts),
          (later) => {
            flush = later;
          },
        );
        let dropped = 0;
        let minutes = 1;
        for (const step of [...steps, null]) {
          if (step === null) {
            flush();
            minutes++;
          } else {
            count(`kind ${step}`);
            dropped++;
          }
        }
        const sum = told.flatMap((counts) => [...counts.values()]).reduce((all, one) => all + one, 0);
        assert.equal(sum, dropped);
        assert.ok(told.length <= minutes && told.every(({ size }) => size <= 21));
        assert.equal(told[0]?.size, dropped > 0 ? 1 : undefined);
      }),
    );
  });

  it("is a few objects of a list at once, so that a change need not wait for all of them", async () => {
    const items = Array.from({ length: 500 }, (_, at) => listed(`a-${at}`, "5"));
    const bench = await ReflectorBench.begin();
    bench.pages = [{ items, resourceVersion: "9" }];
    let [isListed, seen, most] = [false, 0, 0];
    const turn = () => {
      most = Math.max(most, bench.told.length - seen);
      seen = bench.told.length;
      if (!isListed) setImmediate(turn);
    };
    turn();
    try {
      await bench.start();
      assert.equal(bench.told.length, 502);
      assert.ok(most <= 26, `${most} in one turn`);
    } finally {
      isListed = true;
      await bench.end();
    }
  });

  it("is no reconcile for what a list shows as the answers to our own writes did", async () => {
    const bench = new ChildStoreBench();
    const { kind, apiVersion, ...content } = child(7);
    const whole = { kind, apiVersion, ...content } as KubernetesObject;
    const text = JSON.stringify(whole);
    const sink = bench.sink;
    sink.asking?.();
    sink.listing(false, "1");
    sink.listed("1");
    await bench.store.write(CONFIG_MAPS, content.metadata, manifest({ key: "1" }, widget()), async () => ({
      object: JSON.parse(text) as KubernetesObject,
    }));
    // The items of a list have neither kind nor version.
    const api = await TestApiServer.start((_, response) =>
      json(response, {
        kind: "ConfigMapList",
        apiVersion: "v1",
        metadata: { resourceVersion: "9" },
        items: [content],
      }),
    );
    const client = api.client();
    try {
      sink.asking?.();
      sink.listing(false, "9");
      await client.list(CONFIG_MAPS, {}, (items) => {
        for (const each of items) sink.set(each, true);
      });
      sink.listed("9");
    } finally {
      await api.stop();
    }
    assert.deepEqual(bench.told, []);
  });
});
