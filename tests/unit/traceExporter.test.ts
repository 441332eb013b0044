import assert from "node:assert/strict";
import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { newTrace } from "../../runtime/base/traceContext";
import { RUNNER_ENVIRONMENT } from "../../runtime/programs/layout";
import type { LogLevel } from "../../runtime/programs/logLine";
import { openTraces } from "../../runtime/programs/openTraces";
import { readEnvironment } from "../../runtime/programs/pod";
import { TraceExporter, type TraceExporterOptions } from "../../runtime/report/traces/exporter";
import { endpointProblem, readTraceSettings } from "../../runtime/report/traces/settings";
import type { Span } from "../../runtime/report/traces/spans";
import { Collector } from "../support/collector";
import { eventually } from "../support/eventually";
import { operator } from "./support/objects";

const SECRET = "s3cret-token";

interface Received {
  readonly url: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

describe("the exporter of traces", () => {
  let server: Server;
  let received: Received[];
  /** What the collector does with a request. */
  let answer: RequestListener;
  let notices: string[];
  const exporters: TraceExporter[] = [];

  beforeEach(async () => {
    [received, notices] = [[], []];
    answer = (_, response) => void response.writeHead(200).end("{}");
    server = createServer((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        received.push({ url: request.url, headers: request.headers, body });
        answer(request, response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  });
  afterEach(async () => {
    // Never a header, an answer of the collector, or its address.
    for (const notice of notices)
      assert.ok(!notice.includes(SECRET) && !notice.includes("127.0.0.1"), notice);
    await Promise.all(exporters.splice(0).map((exporter) => exporter.close(0)));
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  const address = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  function make(more: Partial<TraceExporterOptions> = {}, endpoint = address()): TraceExporter {
    const { url, headers } = readTraceSettings({
      endpoint,
      headers: `authorization=Bearer%20${SECRET}`,
      oneIn: "",
    });
    const exporter = new TraceExporter({
      url,
      headers,
      resource: { "service.name": "shop" },
      onNotice: (notice) => void notices.push(notice),
      delayMs: 0,
      retryMs: 1,
      ...more,
    });
    exporters.push(exporter);
    return exporter;
  }
  const spans = (count: number) => (): Span[] =>
    Array.from({ length: count }, (_, at) => {
      const { traceId, rootId } = newTrace(1);
      return { traceId, spanId: rootId, name: `span ${at}`, from: 1, to: 2, attributes: {} };
    });
  const figures = ({ sent, dropped }: TraceExporter) => [sent, dropped];
  const spansIn = ({ body }: Received) =>
    JSON.parse(body).resourceSpans[0].scopeSpans[0].spans.map(
      ({ name }: { name: string }) => name,
    ) as string[];

  it("posts spans to /v1/traces as JSON, with its headers, several together", async () => {
    const exporter = make({ delayMs: 20 });
    exporter.add(spans(2));
    exporter.add(spans(1));
    await eventually(() => assert.deepEqual(figures(exporter), [3, 0]));
    assert.equal(received.length, 1);
    const [first] = received as [Received];
    assert.equal(first.url, "/v1/traces");
    assert.equal(first.headers["content-type"], "application/json");
    assert.equal(first.headers.authorization, `Bearer ${SECRET}`);
    assert.deepEqual(spansIn(first), ["span 0", "span 1", "span 0"]);
    assert.deepEqual(notices, []);
  });

  it("drops what is too much while the collector hangs, counts it, and says so once", async () => {
    answer = () => {};
    const exporter = make({ mostWaiting: 3, timeoutMs: 60_000 });
    exporter.add(spans(3));
    await eventually(() => assert.equal(received.length, 1));
    exporter.add(spans(2));
    exporter.add(spans(1));
    assert.deepEqual(figures(exporter), [0, 3]);
    assert.equal(notices.length, 1);
    assert.match(
      notices[0] ?? "",
      /^traces are not sent: too many spans wait\. .*argosy_spans_dropped_total/,
    );
  });

  it("asks a collector again that never answers, and keeps the spans until it ends", async () => {
    answer = () => {};
    const exporter = make({ timeoutMs: 20 });
    exporter.add(spans(1));
    await eventually(() => assert.ok(received.length > 1));
    assert.deepEqual(figures(exporter), [0, 0]);
    assert.deepEqual(notices.length, 1);
    assert.match(notices[0] ?? "", /the collector gave no answer within 0\.02 s/);
    await exporter.close(1_000);
    assert.deepEqual(figures(exporter), [0, 1]);
  });

  for (const code of [429, 502, 503, 504]) {
    it(`tries again after ${code}, and says when it is well again`, async () => {
      let tries = 0;
      answer = (_, response) => void response.writeHead(++tries < 3 ? code : 200).end(SECRET);
      const exporter = make();
      exporter.add(spans(1));
      await eventually(() => assert.deepEqual(figures(exporter), [1, 0]));
      assert.equal(received.length, 3);
      assert.equal(notices.length, 2);
      assert.match(notices[0] ?? "", new RegExp(`the collector answered ${code}`));
      assert.equal(notices[1], "traces are sent again");
    });
  }

  for (const code of [400, 401, 404, 301]) {
    it(`does not try again after ${code}, and follows no redirect`, async () => {
      answer = (_, response) =>
        void response.writeHead(code, { location: `${address()}/elsewhere` }).end(SECRET);
      const exporter = make();
      exporter.add(spans(2));
      await eventually(() => assert.deepEqual(figures(exporter), [0, 2]));
      exporter.add(spans(1));
      await eventually(() => assert.deepEqual(figures(exporter), [0, 3]));
      assert.equal(received.length, 2);
      assert.deepEqual(notices.length, 1);
    });
  }

  it("outlives an answer without end, and one that breaks off", async () => {
    let tries = 0;
    answer = (_, response) => {
      response.writeHead(200, { "content-length": String(10 * 1024 * 1024) });
      if (++tries === 1) response.write("x", () => response.destroy());
      else response.write("x");
    };
    const exporter = make();
    exporter.add(spans(1));
    await eventually(() => assert.deepEqual(figures(exporter), [1, 0]));
    exporter.add(spans(1));
    await eventually(() => assert.deepEqual(figures(exporter), [2, 0]));
  });

  it("outlives an address where no server listens", async () => {
    const exporter = make({}, "http://127.0.0.1:1");
    exporter.add(spans(1));
    await eventually(() => assert.equal(notices.length, 1));
    assert.match(notices[0] ?? "", /the collector cannot be reached \(ECONNREFUSED\)/);
  });

  it("outlives a header that no client can send", async () => {
    const exporter = make({ headers: { authorization: `a\n${SECRET}` } });
    exporter.add(spans(1));
    await eventually(() => assert.equal(notices.length, 1));
    assert.deepEqual(received, []);
  });

  it("sends what waits when it is closed, and does not wait for a collector that hangs", async () => {
    const exporter = make({ delayMs: 60_000 });
    exporter.add(spans(2));
    await exporter.close(10_000);
    assert.deepEqual(figures(exporter), [2, 0]);
    exporter.add(spans(1));
    assert.deepEqual(figures(exporter), [2, 1], "after its end it takes no more");
    answer = () => {};
    const hanging = make({ timeoutMs: 60_000 });
    hanging.add(spans(1));
    await hanging.close(50);
    assert.deepEqual(figures(hanging), [0, 1]);
  });

  it("sends spans that come at the very moment at which it has sent all others", async () => {
    for (let turns = 0; turns < 10; turns++) {
      let tries = 0;
      answer = (_, response) => void response.writeHead(tries++ === 0 ? 503 : 200).end("{}");
      const exporter: TraceExporter = make({
        onNotice: async (notice) => {
          if (notice !== "traces are sent again") return;
          for (let turn = 0; turn < turns; turn++) await Promise.resolve();
          exporter.add(spans(1));
        },
      });
      exporter.add(spans(1));
      await eventually(() => assert.deepEqual(figures(exporter), [2, 0], `after ${turns} turns`), {
        timeoutMs: 5_000,
      });
    }
  });

  it("loses a trace that cannot be made, and nothing else", async () => {
    const exporter = make();
    exporter.add(() => {
      throw new RangeError("NaN");
    });
    assert.deepEqual(figures(exporter), [0, 1]);
    exporter.add(spans(1));
    await eventually(() => assert.deepEqual(figures(exporter), [1, 1]));
  });
});

describe("where traces go", () => {
  const read = (endpoint: string, headers = "", oneIn = "") =>
    readTraceSettings({ endpoint, headers, oneIn });

  it("is the collector's address with /v1/traces, once", () => {
    for (const [endpoint, url] of [
      ["http://collector:4318", "http://collector:4318/v1/traces"],
      ["http://collector:4318/", "http://collector:4318/v1/traces"],
      ["https://example.com/otlp/", "https://example.com/otlp/v1/traces"],
      ["https://example.com/v1/traces", "https://example.com/v1/traces"],
    ] as const) {
      assert.equal(read(endpoint).url.href, url);
    }
  });

  it("has no password, no query and no other scheme, and an error has none of them either", () => {
    for (const [endpoint, problem] of [
      [`https://user:${SECRET}@example.com`, /a user or a password/],
      [`https://${SECRET}@example.com`, /a user or a password/],
      [`https://example.com/?key=${SECRET}`, /a query/],
      [`https://example.com/#${SECRET}`, /a fragment/],
      ["grpc://collector:4317", /begins with grpc:/],
      ["collector:4318", /begins with collector:/],
      ["collector", /is no address/],
      ["", /is no address/],
    ] as const) {
      assert.match(endpointProblem(endpoint) ?? "", problem);
      assert.throws(
        () => read(endpoint),
        ({ message }: Error) => problem.test(message) && !message.includes(SECRET),
      );
    }
    assert.equal(endpointProblem("http://collector:4318"), undefined);
  });

  it("takes headers as OpenTelemetry's own variable has them", () => {
    assert.deepEqual(read("http://a", "").headers, {});
    assert.deepEqual(read("http://a", " Api-Key = abc , x=a%20b%2Cc, \n").headers, {
      "api-key": "abc",
      x: "a b,c",
    });
    assert.deepEqual(read("http://a", "authorization=Basic YTpi==").headers, {
      authorization: "Basic YTpi==",
    });
  });

  it("refuses headers that are none, without saying them", () => {
    for (const headers of [
      SECRET,
      `=${SECRET}`,
      `a b=${SECRET}`,
      `a=%zz${SECRET}`,
      `a=b,c=%0d%0a${SECRET}`,
    ]) {
      assert.throws(
        () => read("http://a", headers),
        ({ message }: Error) =>
          /^header \d of \d for the collector/.test(message) && !message.includes(SECRET),
      );
    }
  });

  it("samples one in as many runs as the variable says", () => {
    assert.equal(read("http://a").ratio, 1);
    assert.equal(read("http://a", "", "20").ratio, 0.05);
    for (const oneIn of ["0", "-1", "0.5", "x", "NaN"])
      assert.throws(() => read("http://a", "", oneIn), /a number of at least 1/);
  });
});

describe("the traces of a pod", () => {
  let lines: [LogLevel, string][];
  let notices: string[];
  let collector: Collector;
  beforeEach(async () => {
    [lines, notices] = [[], []];
    collector = await Collector.start();
  });
  afterEach(() => collector.stop());

  function open(traces: { endpoint?: string; headers?: string; oneIn?: string }) {
    const environment = readEnvironment("run", {
      [RUNNER_ENVIRONMENT.namespace]: "argosy",
      [RUNNER_ENVIRONMENT.pod]: "shop-runner-0",
      [RUNNER_ENVIRONMENT.instanceId]: "",
      [RUNNER_ENVIRONMENT.workflow]: "shop-x2",
      [RUNNER_ENVIRONMENT.tracesEndpoint]: traces.endpoint,
      [RUNNER_ENVIRONMENT.tracesHeaders]: traces.headers,
      [RUNNER_ENVIRONMENT.tracesOneIn]: traces.oneIn,
    });
    const log = (level: LogLevel, message: string) => void lines.push([level, message]);
    return openTraces({ operator: operator(), environment, log }, (notice) => void notices.push(notice));
  }

  it("are off where the manifests name no collector", () => {
    assert.equal(open({}), undefined);
    assert.deepEqual(lines, []);
  });

  it("say whose they are: the operator, the pod and its namespace", async () => {
    const traces = open({ endpoint: collector.endpoint });
    assert.ok(traces);
    const { traceId, rootId: spanId } = traces.begin();
    traces.add(() => [{ traceId, spanId, name: "a", from: 1, to: 2, attributes: {} }]);
    await traces.close(60_000);
    await eventually(() => assert.equal(collector.bodies.length, 1));
    const { attributes } = JSON.parse(collector.bodies[0] ?? "").resourceSpans[0].resource;
    const pairs = attributes.map((each: { key: string; value: { stringValue: string } }) => [
      each.key,
      each.value.stringValue,
    ]);
    assert.deepEqual(pairs, [
      ["service.name", `${operator().installation}.${operator().name}`],
      ["service.instance.id", "shop-runner-0"],
      ["k8s.namespace.name", "argosy"],
      ["k8s.pod.name", "shop-runner-0"],
    ]);
  });

  it("are off, and that is said without any secret, where the headers or the address cannot be used", () => {
    for (const given of [
      { endpoint: collector.endpoint, headers: "s3cret" },
      { endpoint: "https://me:s3cret@example.com" },
      { endpoint: collector.endpoint, oneIn: "0" },
    ]) {
      lines = [];
      assert.equal(open(given), undefined);
      assert.equal(lines.length, 1);
      assert.match(lines[0]?.join() ?? "", /^warn,traces are off: /);
      assert.ok(!lines.join().includes("s3cret"));
    }
  });
});
