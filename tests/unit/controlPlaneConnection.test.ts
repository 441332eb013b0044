import assert from "node:assert/strict";
import { clusterDirectory } from "../../cli/controlPlane/configuration";
import { readConnection } from "../../cli/controlPlane/connection";
import { writeFolder } from "./operatorFolder";

const SERVER = "https://127.0.0.1:6443";

/** Only its form matters here. */
function pem(what: string): string {
  return `-----BEGIN ${what}-----\nMIIB\n-----END ${what}-----\n`;
}

describe("the connection to an embedded control plane", () => {
  const whole = {
    "ca.crt": pem("CERTIFICATE"),
    "admin.crt": pem("CERTIFICATE"),
    "admin.key": pem("RSA PRIVATE KEY"),
  };

  async function read(files: Readonly<Record<string, string>>) {
    const pki = clusterDirectory("").replace(/^\/+/, "");
    const folder = writeFolder(
      Object.fromEntries(Object.entries(files).map(([name, text]) => [`${pki}/pki/${name}`, text])),
    );
    return await readConnection(SERVER, folder);
  }

  it("is that of the certificates that kwokctl has made", async () => {
    const { certificateAuthority, privateKey } = await read(whole);
    assert.deepEqual([certificateAuthority, privateKey].map(String), [whole["ca.crt"], whole["admin.key"]]);
  });

  for (const name of Object.keys(whole) as (keyof typeof whole)[]) {
    it(`does not exist while kwokctl writes ${name}: half of a certificate would be refused for ever`, async () => {
      for (const part of ["", whole[name].slice(0, 40)]) {
        await assert.rejects(read({ ...whole, [name]: part }), new RegExp(`${name} is not complete yet`));
      }
    });
  }
});
