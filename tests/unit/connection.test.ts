import assert from "node:assert/strict";
import { renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { inClusterConnection, tokenFromFile } from "../../runtime/kubernetes/connection";
import { temporaryFolder } from "../support/temporaryFolder";

describe("connection", () => {
  let folder: string;
  beforeEach(() => {
    folder = temporaryFolder();
  });

  function write(name: string, content: string): string {
    const file = path.join(folder, name);
    writeFileSync(file, content);
    return file;
  }

  describe("tokenFromFile", () => {
    it("gives the file's content without white space around it", () => {
      assert.equal(tokenFromFile(write("token", "secret\n"))(), "secret");
    });

    it("gives the new token when the file has been replaced", () => {
      const file = write("token", "old");
      const token = tokenFromFile(file);
      assert.equal(token(), "old");
      // As the kubelet does: a new file takes the old one's name.
      const next = write("token.next", "new");
      utimesSync(next, new Date(), new Date(Date.now() + 5_000));
      renameSync(next, file);
      assert.equal(token(), "new");
      assert.equal(token(), "new");
    });

    it("does not read a file again that has not changed", () => {
      const file = write("token", "old");
      const at = new Date(1_700_000_000_000);
      utimesSync(file, at, at);
      const token = tokenFromFile(file);
      assert.equal(token(), "old");
      writeFileSync(file, "new");
      utimesSync(file, at, at);
      assert.equal(token(), "old");
    });

    it("fails where there is no such file", () => {
      assert.throws(tokenFromFile(path.join(folder, "none")), /ENOENT/);
    });
  });

  describe("inClusterConnection", () => {
    const env = { KUBERNETES_SERVICE_HOST: "10.0.0.1", KUBERNETES_SERVICE_PORT: "443" };
    beforeEach(() => {
      write("token", "secret\n");
      write("ca.crt", "authority");
      write("namespace", "argosy\n");
    });

    it("reads the pod's service account", () => {
      const connection = inClusterConnection(folder, env);
      assert.equal(connection.server, "https://10.0.0.1:443");
      assert.equal(String(connection.certificateAuthority), "authority");
      assert.equal(connection.namespace, "argosy");
      assert.equal(connection.token?.(), "secret");
    });

    it("has the authority that the cluster has now", () => {
      const connection = inClusterConnection(folder, env);
      const next = write("next", "another");
      utimesSync(next, new Date(), new Date(Date.now() + 5_000));
      renameSync(next, path.join(folder, "ca.crt"));
      assert.equal(String(connection.certificateAuthority), "another");
      assert.equal(connection.certificateAuthority, connection.certificateAuthority);
    });

    it("writes an IPv6 address as a URL has it", () => {
      const ipv6 = { ...env, KUBERNETES_SERVICE_HOST: "fd00::1" };
      assert.equal(inClusterConnection(folder, ipv6).server, "https://[fd00::1]:443");
    });

    it("says what is missing outside of a pod", () => {
      assert.throws(
        () => inClusterConnection(folder, {}),
        /not in a Kubernetes pod .*KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT or .*token is missing/,
      );
      rmSync(path.join(folder, "token"));
      assert.throws(() => inClusterConnection(folder, env), /not in a Kubernetes pod/);
    });
  });
});
