import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { KubernetesObject } from "../../../runtime/base/objects";
import type { KubernetesClient } from "../../../runtime/kubernetes/client";
import { Reflector, type ReflectorOptions } from "../../../runtime/observe/reflector";
import { eventually } from "../../support/eventually";
import { CONFIG_MAPS } from "./objects";
import { type ApiCall, json, TestApiServer } from "./testApiServer";

/** A ConfigMap of that name and version, as a list or a watch gives it. */
export function item(name: string, resourceVersion: string, data = ""): KubernetesObject {
  const metadata = { name, namespace: "shop", uid: `${name}-uid`, resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data: { data } };
}

/** Answers the first watch in another way, and all the rest as before. */
export function replacingFirstWatch(
  rest: TestApiServer["answer"],
  first: (response: ServerResponse) => void,
): TestApiServer["answer"] {
  let replaced = false;
  return (call, response) => {
    if (replaced || !call.query.has("watch")) return rest(call, response);
    replaced = true;
    first(response);
  };
}

/** A reflector of ConfigMaps, and an API server that the test answers for. */
export class ReflectorBench {
  /** What the sink was told, in order: "listing", "set a@1", "listed", "remove a@1". */
  readonly told: string[] = [];
  readonly interruptions: Error[] = [];
  synced = 0;
  /** The pages of the next lists; an empty one where none is left. */
  pages: { items: KubernetesObject[]; resourceVersion: string; more?: string }[] = [];
  /** The watches that were opened, and are answered by the test. */
  readonly watches: { call: ApiCall; response: ServerResponse }[] = [];
  /** How a watch is answered as soon as it is opened. */
  onWatch: (call: ApiCall, response: ServerResponse) => void = () => {};
  reflector: Reflector | undefined;

  /** Answers as an API server does that nothing ails. */
  readonly answer: TestApiServer["answer"] = (call, response) => {
    if (call.query.get("watch") === "true") {
      this.watches.push({ call, response });
      response.writeHead(200).flushHeaders();
      return this.onWatch(call, response);
    }
    const { items, resourceVersion, more } = this.pages.shift() ?? { items: [], resourceVersion: "99" };
    json(response, { metadata: { resourceVersion, ...(more && { continue: more }) }, items });
  };

  private constructor(
    readonly api: TestApiServer,
    readonly client: KubernetesClient,
  ) {
    api.answer = this.answer;
  }

  static async begin(): Promise<ReflectorBench> {
    const api = await TestApiServer.start();
    return new ReflectorBench(api, api.client());
  }

  /** Starts the reflector, and waits for its first list if it makes one. */
  async start({
    sink,
    ...options
  }: Pick<
    ReflectorOptions,
    "metadataOnly" | "namespace" | "from" | "pause" | "now" | "answersOthers" | "onRefused"
  > & { sink?: Partial<ReflectorOptions["sink"]> } = {}): Promise<void> {
    const { told, interruptions } = this;
    const name = ({ metadata }: KubernetesObject) => `${metadata.name}@${metadata.resourceVersion}`;
    this.reflector = new Reflector({
      client: this.client,
      resource: CONFIG_MAPS,
      sink: {
        listing: (isReset) => void told.push(isReset ? "listing again from the start" : "listing"),
        set: (object) => void told.push(`set ${name(object)}`),
        listed: () => void told.push("listed"),
        remove: (object) => void told.push(`remove ${name(object)}`),
        ...sink,
      },
      onInterruption: (error) => interruptions.push(error),
      onSynced: () => void this.synced++,
      ...options,
    });
    this.reflector.startWatching();
    if (options.from === undefined) await this.reflector.whenListed();
  }

  /** The watch that was opened as the `count`th. */
  async watch(count = 1): Promise<{ call: ApiCall; response: ServerResponse }> {
    await eventually(() => assert.ok(this.watches.length >= count, `watch ${count} is opened`));
    const opened = this.watches[count - 1];
    assert.ok(opened);
    return opened;
  }

  lists(): ApiCall[] {
    return this.api.calls.filter(({ query }) => !query.has("watch"));
  }

  async end(): Promise<void> {
    await this.reflector?.stopWatching();
    await this.api.stop();
  }
}
