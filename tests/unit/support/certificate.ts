import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

/** A key and the certificate of it, both in PEM. */
export interface Identity {
  readonly key: string;
  readonly certificate: string;
}

const ECDSA_WITH_SHA256 = [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
const COMMON_NAME = [0x55, 0x04, 0x03];
const SUBJECT_ALTERNATIVE_NAME = [0x55, 0x1d, 0x11];
const DAY_MS = 24 * 3600 * 1000;

/**
 * Makes a self-signed certificate, for 127.0.0.1 and for its own name. It is its own authority.
 * Node can sign but has no maker of certificates, and openssl is not on every machine, so the few structures of
 * RFC 5280 that it takes are written here.
 */
export function makeIdentity(name: string): Identity {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = sequence(objectId(ECDSA_WITH_SHA256));
  const subject = sequence(der(0x31, sequence(objectId(COMMON_NAME), der(0x0c, Buffer.from(name)))));
  const names = sequence(der(0x82, Buffer.from(name)), der(0x87, Buffer.from([127, 0, 0, 1])));
  const extensions = sequence(sequence(objectId(SUBJECT_ALTERNATIVE_NAME), der(0x04, names)));
  const version3 = der(0x02, Buffer.from([2]));
  const content = sequence(
    der(0xa0, version3),
    der(0x02, Buffer.from([0x01, ...randomBytes(8)])),
    algorithm,
    subject,
    sequence(utcTime(Date.now() - DAY_MS), utcTime(Date.now() + DAY_MS)),
    subject,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, extensions),
  );
  const signature = der(0x03, Buffer.concat([Buffer.from([0]), sign("sha256", content, privateKey)]));
  const body = sequence(content, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${body}\n-----END CERTIFICATE-----\n`,
  };
}

/** A value in DER: its tag, its length, and itself. */
function der(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const prefix =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...prefix]), content]);
}

function sequence(...parts: Buffer[]): Buffer {
  return der(0x30, Buffer.concat(parts));
}

function objectId(bytes: readonly number[]): Buffer {
  return der(0x06, Buffer.from(bytes));
}

function utcTime(at: number): Buffer {
  const digits = new Date(at).toISOString().replace(/\D/g, "").slice(2, 14);
  return der(0x17, Buffer.from(`${digits}Z`));
}
