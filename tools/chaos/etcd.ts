interface Answer {
  readonly header?: { readonly revision?: string };
  readonly message?: string;
}

/**
 * Makes etcd forget every state but the newest, by its gateway for JSON: a watch that would go on from an older one is
 * told that it has expired.
 * @param url of etcd's clients, "http://127.0.0.1:2379"
 * @see https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
 */
export async function compactEtcd(url: string): Promise<void> {
  const { header } = await post(`${url}/v3/kv/range`, { key: "AA==" });
  if (!header?.revision) throw new Error(`${url} tells no revision`);
  await post(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

async function post(url: string, body: unknown): Promise<Answer> {
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body), signal });
  const answer = (await response.json()) as Answer;
  // Somebody else was quicker.
  if (response.ok || /has been compacted/.test(answer.message ?? "")) return answer;
  throw new Error(`${url}: ${answer.message ?? response.status}`);
}
