import assert from "node:assert/strict";
import type { Manifest } from "../../../runtime/base/objects";
import { announceKind } from "../support/cluster";
import { customResourceDefinition, inNamespace } from "../support/manifests";
import { answering, useOperator } from "../support/useOperator";

const GROUP = "gauges.example.com";

/** The CRD of the children, whose field has this type. */
const gauges = (type: string) => customResourceDefinition(GROUP, "Gauge", { size: { type } });
const gauge = (size: string | number): Manifest => ({
  apiVersion: `${GROUP}/v1`,
  kind: "Gauge",
  metadata: { name: "gauge" },
  size,
});

describe("when a field of a child's kind gets another type", function () {
  this.timeout(60_000);
  announceKind(gauges("string"));
  const bench = useOperator({
    name: "gauging",
    children: [{ apiVersion: `${GROUP}/v1`, kind: "Gauge", update: "recreate" }],
  });

  it("a child with a value of the former type is deleted and created again, if its kind is recreated", async () => {
    await bench.applied("gauge", answering(gauge("big")));
    await bench.api.apply(gauges("integer"), "argosy-install");
    await bench.applied("gauge", answering(gauge(5)));
    assert.equal((await bench.api.get(inNamespace(gauge(5), bench.namespace)))["size"], 5);
  });
});
