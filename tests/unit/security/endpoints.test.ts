import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { Registry } from "prom-client";
import type { HttpListener } from "../../../runtime/base/http/listen";
import { startHintServer } from "../../../runtime/programs/resident/hints";
import { startTelemetryServer } from "../../../runtime/programs/telemetryServer";
import { eventually } from "../../support/eventually";
import { operator } from "../support/objects";

const HOST = "127.0.0.1";

/** What is listened to by a runner: hints, and its telemetry. */
const SERVERS: Readonly<Record<string, () => Promise<HttpListener>>> = {
  hints: () =>
    startHintServer({ host: HOST, port: 0, operator: operator(), take: () => "queued", onResult: () => {} }),
  telemetry: () =>
    startTelemetryServer(
      {
        settings: { root: "", host: HOST, ports: { hints: 0, metrics: 0 }, leaseSeconds: 15 },
        stopping: new AbortController().signal,
      },
      new Registry(),
    ),
};

for (const [name, start] of Object.entries(SERVERS)) {
  describe(`anyone who reaches a runner's port for ${name}`, function () {
    this.timeout(120_000);
    let server: HttpListener;
    let sockets: Socket[];
    beforeEach(async () => {
      sockets = [];
      server = await start();
    });
    afterEach(async () => {
      for (const socket of sockets) socket.destroy();
      await server.close();
    });

    function open(text = ""): Socket {
      const socket = connect(server.port, HOST);
      socket.on("error", () => {}).resume();
      socket.write(text);
      sockets.push(socket);
      return socket;
    }

    async function answers(): Promise<boolean> {
      // Those that keep their connections open never let go by themselves: who is kept out is kept out however long he waits.
      const signal = AbortSignal.timeout(30_000);
      const headers = { connection: "close" };
      const response = await fetch(`http://${HOST}:${server.port}/nothing`, { signal, headers }).catch(
        () => undefined,
      );
      return response?.status === 404;
    }

    it("is cut off if they send nothing, send slowly or never finish", async () => {
      const begun = "POST /hints HTTP/1.1\r\nhost: x\r\n";
      const closed = [open(), open(begun), open(`${begun}content-length: 9\r\n\r\n{`)].map((socket) =>
        once(socket, "close"),
      );
      await Promise.all(closed);
    });

    it("cannot keep others out by holding connections open", async () => {
      const ask = (socket: Socket) => socket.write("GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n");
      const polite = Array.from({ length: 600 }, () => open());
      // While hundreds connect at the same moment, the server reads nothing.
      await Promise.all(polite.map((socket) => once(socket, "connect")));
      const asking = setInterval(() => polite.filter((socket) => !socket.destroyed).forEach(ask), 500);
      try {
        for (let time = 0; time < 10; time++) {
          assert.ok(await answers(), `at time ${time}`);
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
        // Those of one address are a share of all.
        await eventually(() => assert.ok(polite.filter(({ destroyed }) => !destroyed).length <= 64));
      } finally {
        clearInterval(asking);
      }
    });

    it("holds no more than 512 connections, and frees the port when they have gone", async () => {
      const all = Array.from({ length: 600 }, () => open());
      const closed = new Set<Socket>();
      for (const socket of all) socket.once("close", () => closed.add(socket));
      // The kernel connects all of them; the server closes what is too much at once, and the silent ones later.
      await eventually(() => assert.ok(closed.size >= 600 - 512, "it closes what is too much"), {
        timeoutMs: 150_000,
      });
      for (const socket of all) socket.destroy();
      // It has yet to hear that they have gone.
      await eventually(async () => assert.ok(await answers(), "it answers others"), { timeoutMs: 150_000 });
    });
  });
}
