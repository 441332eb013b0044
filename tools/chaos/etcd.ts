interface Answer {
  readonly header?: { readonly revision?: string };
  readonly message?: string;
}

/**
 * Compacts etcd through its JSON gateway, so that it forgets every state except the newest: a watch that would go on from an
 * older state gets the error that this state has expired.
 * @param url the address for etcd's clients, "http://127.0.0.1:2379"
 * @see https://etcd.io/docs/v3.6/dev-guide/api_grpc_gateway/
 */
export async function compactEtcd(url: string): Promise<void> {
  const { header } = await post(`${url}/v3/kv/range`, { key: "AA==" });
  if (!header?.revision) throw new Error(`${url} reports no revision`);
  await post(`${url}/v3/kv/compaction`, { revision: header.revision, physical: true });
}

async function post(url: string, body: unknown): Promise<Answer> {
  const signal = AbortSignal.timeout(10_000);
  const response = await fetch(url, { method: "POST", body: JSON.stringify(body), signal });
  const answer = (await response.json()) as Answer;
  // Another client has already compacted etcd.
  if (response.ok || /has been compacted/.test(answer.message ?? "")) return answer;
  throw new Error(`${url}: ${answer.message ?? response.status}`);
}
