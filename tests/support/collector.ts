import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { TraceExporter, type TraceExporterOptions } from "../../runtime/report/traces/exporter";
import { readTraceSettings } from "../../runtime/report/traces/settings";

/** A span as a collector gets it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: string };
  }[];
  readonly status: { readonly code?: number; readonly message?: string };
}

/** A collector of traces that listens on this machine, and keeps what it gets. */
export class Collector {
  /** The bodies of all requests. */
  readonly bodies: string[] = [];
  readonly notices: string[] = [];
  /** What it does with a request. */
  answer: RequestListener = (_, response) => void response.writeHead(200).end("{}");
  private readonly server: Server;
  private readonly exporters: TraceExporter[] = [];

  private constructor() {
    this.server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => void chunks.push(chunk));
      request.on("end", () => {
        if (request.url === "/v1/traces") this.bodies.push(Buffer.concat(chunks).toString("utf8"));
        this.answer(request, response);
      });
    });
  }

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await new Promise<void>((resolve) => collector.server.listen(0, "127.0.0.1", resolve));
    return collector;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** All spans that it got, in that order. */
  get spans(): ReceivedSpan[] {
    return this.bodies.flatMap((body) =>
      JSON.parse(body).resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: ReceivedSpan[] }[] }) =>
        scopeSpans.flatMap(({ spans }) => spans),
      ),
    );
  }

  /** An exporter that sends to it soon. */
  exporter(more: Partial<TraceExporterOptions> = {}): TraceExporter {
    const { url } = readTraceSettings({ endpoint: this.endpoint, headers: "", oneIn: "" });
    const resource = { "service.name": "test" };
    const onNotice = (notice: string) => void this.notices.push(notice);
    const exporter = new TraceExporter({ url, headers: {}, resource, onNotice, delayMs: 0, ...more });
    this.exporters.push(exporter);
    return exporter;
  }

  async stop(): Promise<void> {
    await Promise.all(this.exporters.map((exporter) => exporter.close(0)));
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

/** The value of a span's attribute. Undefined if it has none of that name. */
export function attributeOf({ attributes }: ReceivedSpan, name: string): string | undefined {
  const value = attributes.find(({ key }) => key === name)?.value;
  return value?.stringValue ?? value?.intValue;
}
