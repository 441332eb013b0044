import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { TcpProxy } from "../integration/support/tcpProxy";
import { eventually } from "../support/eventually";

describe("the proxy that cuts connections", () => {
  let server: Server;
  let proxy: TcpProxy;

  beforeEach(async () => {
    server = createServer();
    await once(server.listen(0, "127.0.0.1"), "listening");
    proxy = await TcpProxy.start({ server: `https://127.0.0.1:${(server.address() as AddressInfo).port}` });
  });
  afterEach(async () => {
    await proxy.stop();
    server.close();
  });

  async function connected(): Promise<Socket> {
    const { port } = new URL(proxy.through({ server: "" }).server);
    const socket = connect(Number(port), "127.0.0.1");
    await Promise.all([once(socket, "connect"), once(server, "connection")]);
    return socket;
  }

  it("resets a connection that is in use", async () => {
    const socket = await connected();
    const failed = once(socket, "error");
    proxy.cut();
    const [error] = (await failed) as [NodeJS.ErrnoException];
    assert.equal(error.code, "ECONNRESET");
  });

  it("leaves no socket behind when a connection is cut while the client ends it", async () => {
    const before = sockets();
    // The proxy's own end of the connection shuts down right after its "end".
    proxy["listener"].once("connection", (client: Socket) => {
      client.once("end", () => queueMicrotask(() => proxy.cut()));
    });
    const socket = await connected();
    socket.on("error", () => {}).end();
    await eventually(() => assert.equal(proxy.connections, 0));
    socket.destroy();
    await eventually(() => assert.equal(sockets(), before));
  });
});

/** How many sockets keep this process alive. */
function sockets(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length;
}
