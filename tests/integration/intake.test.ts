import assert from "node:assert/strict";
import { randomInt } from "node:crypto";
import { Agent, request as send } from "node:http";
import { connectionAs } from "../../cli/local/serviceAccountToken";
import { buildCustomResourceDefinition } from "../../components/manifests/customResourceDefinition";
import { buildCallerAccount, buildIntake, intakeEventOf } from "../../components/manifests/outside/intake";
import { outsideEventsOf, outsideOptions } from "../../components/manifests/outside/options";
import { specSchemaOf } from "../../definition/customResourceDefinition";
import type { HttpListener } from "../../runtime/base/http/listen";
import { EVENT_LABEL } from "../../runtime/base/names";
import type { JsonObject } from "../../runtime/base/objects";
import { KubernetesClient } from "../../runtime/kubernetes/client";
import type { Operator } from "../../runtime/operator/definition";
import { intakeManagerOf } from "../../runtime/operator/eventMarks";
import { Intake } from "../../runtime/programs/intake/intake";
import { type CreatingEvent, SUBJECT_HEADER, TOKEN_HEADER } from "../../runtime/programs/intake/intakeFile";
import { startIntakeServer } from "../../runtime/programs/intake/intakeServer";
import { eventually } from "../support/eventually";
import {
  loadDefinition,
  removeFolder,
  widgetCrd,
  widgetDefinition,
  widgetVersion,
  writeFolder,
} from "../unit/operatorFolder";
import { samplePlatform } from "../unit/support/platform";
import { mayDo, parseCall } from "./support/accessReview";
import type { Api } from "./support/api";
import { ApiProxy } from "./support/apiProxy";
import { sharedCluster, type TestCluster } from "./support/cluster";
import { configMap } from "./support/manifests";

const CRD = widgetCrd(
  {
    group: "intake.example.com",
    names: { kind: "Command", plural: "commands" },
    versions: [
      widgetVersion(
        {},
        {
          spec: {
            type: "object",
            required: ["text"],
            properties: {
              text: { type: "string", maxLength: 100, pattern: "^[a-z0-9 -]*$" },
              count: { type: "integer", default: 1 },
              // The API server stores none of what this says about the absence of something.
              size: {
                type: "number",
                minimum: 0.5,
                exclusiveMinimum: false,
                nullable: false,
                description: "",
              },
              tags: {
                type: "array",
                uniqueItems: false,
                items: { type: "string", enum: ["a", ""], default: "" },
              },
              port: { "x-kubernetes-int-or-string": true, anyOf: [{ type: "integer" }, { type: "string" }] },
              raw: {
                type: "object",
                "x-kubernetes-preserve-unknown-fields": true,
                required: [],
                properties: {},
              },
            },
          },
        },
      ),
    ],
  },
  { metadata: { name: "commands.intake.example.com" } },
);
const KIND = { apiVersion: "intake.example.com/v1", kind: "Command" } as const;

/** Real HTTP and a real API server, with the account that the manifests give. What sends is a sensor's stand-in. */
describe("the intake", function () {
  this.timeout(240_000);
  let cluster: TestCluster;
  let api: Api;
  let operator: Operator;
  let root: string;
  let namespace: string;
  let home: string;
  let token: string;
  let subject: string;
  let proxy: ApiProxy;
  const closing: (() => Promise<void> | void)[] = [];

  before(async function () {
    this.timeout(0);
    cluster = await sharedCluster();
    ({ api } = cluster);
    [home, namespace] = [await api.newNamespace("intake-home"), await api.newNamespace("intake")];
    root = writeFolder({ "crd.yaml": CRD, "main.py": "" });
    operator = loadDefinition(root, {
      ...widgetDefinition,
      name: "commands",
      on: {
        deploy: {
          webhook: { endpoint: "/a", method: "POST", port: "12000", authSecret: { name: "a", key: "b" } },
          id: ["body.id"],
          when: { "body.kind": "command" },
          create: {
            kind: "Command",
            namespace: { from: "body.team", allowed: [namespace] },
            spec: { text: "body.text", count: "body.count?" },
          },
        },
      },
    });
    await api.apply(buildCustomResourceDefinition(operator));
    const platform = samplePlatform({ namespace: home });
    const options = outsideOptions({
      installation: operator.installation,
      platform,
      placement: { imagePullSecrets: [], nodeSelector: {}, tolerations: [] },
      eventBus: { replicas: 1, storage: "1Gi" },
      intakes: 1,
    });
    const { intake: _, ...rest } = buildIntake(outsideEventsOf([operator]), options, configMap("engine"));
    const set = { ...buildCallerAccount(options), ...rest };
    for (const manifest of Object.values(set)) await api.apply(manifest);
    subject = outsideEventsOf([operator])[0]?.subject ?? "";
    // The cluster itself makes the token, as the manifests count on.
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "argosy-outside-caller", namespace: home },
    };
    token = await eventually(async () => {
      const { data } = (await api.get(secret)) as unknown as { data?: { token?: string } };
      assert.ok(data?.token, "the Secret has no token yet");
      return Buffer.from(data.token, "base64").toString("utf8");
    });
    proxy = await ApiProxy.start(cluster.connection);
  });
  after(async () => {
    for (const close of closing) await close();
    await proxy?.stop();
    if (root) removeFolder(root);
  });

  /** An intake of its own, as in a pod. Its port may be given, so that another takes the place of one that was killed. */
  async function begin(port = 0, changes: Partial<CreatingEvent> = {}): Promise<HttpListener> {
    const account = { name: "argosy-outside-intake", namespace: home };
    const client = new KubernetesClient(proxy.through(connectionAs(account, cluster.connection)));
    const file = {
      installation: operator.installation,
      events: outsideEventsOf([operator]).map((event) => ({
        ...(intakeEventOf(event, home) as CreatingEvent),
        ...changes,
      })),
    };
    const intake = new Intake({ file, client, instance: "intake-0", onNotice: () => {} });
    const listener = await startIntakeServer({ host: "127.0.0.1", port, intake, token: () => token });
    closing.push(async () => {
      await listener.close();
      client.close();
    });
    return listener;
  }

  const agent = new Agent({ keepAlive: true });
  /** One try of a sensor: the status, or 0 where no answer came. */
  function post(port: number, data: unknown): Promise<number> {
    return new Promise((resolve) => {
      const headers = { [TOKEN_HEADER]: token, [SUBJECT_HEADER]: subject };
      const options = { host: "127.0.0.1", port, path: "/events", method: "POST", headers, agent };
      const sent = send(options, (response) => {
        response.resume();
        response.on("end", () => resolve(response.statusCode ?? 0));
        response.on("error", () => resolve(0));
      });
      sent.on("error", () => resolve(0));
      sent.end(JSON.stringify({ data }));
    });
  }
  const eventOf = (body: object) => ({
    header: {},
    body: { kind: "command", team: namespace, text: "go", ...body },
  });
  const notesAbout = async (id: string) =>
    (await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, "default")).flatMap((event) => {
      const { note, regarding } = event as unknown as { note: string; regarding: { name: string } };
      return regarding.name === "commands.intake.example.com" && note.includes(`"${id}"`) ? [note] : [];
    });

  it("makes an object, once, with what the CRD's schema adds, and by a field manager of its own", async () => {
    const { port } = await begin();
    await eventually(async () => assert.equal(await post(port, eventOf({ id: "one" })), 204));
    assert.equal(await post(port, eventOf({ id: "one" })), 204);
    const [object, ...others] = await api.list(KIND, namespace);
    assert.deepEqual(others, []);
    assert.deepEqual(object?.["spec"], { text: "go", count: 1 });
    assert.equal(object?.metadata.labels?.[EVENT_LABEL], "deploy");
    assert.equal(object?.metadata.annotations?.["argosy.dev/event-id"], "one");
    assert.deepEqual(
      object?.metadata.managedFields?.map(({ manager, operation }) => [manager, operation]),
      [[intakeManagerOf(operator), "Update"]],
    );
    // The author of an object may change it: the event is still the same.
    await api.patch(
      { ...KIND, metadata: { name: object?.metadata.name ?? "", namespace } },
      { spec: { text: "changed" } },
    );
    assert.equal(await post(port, eventOf({ id: "one" })), 204);
    assert.deepEqual(await notesAbout("one"), []);
  });

  it("warns of what the API server refuses, by the field and without the value", async () => {
    const { port } = await begin();
    assert.equal(await post(port, eventOf({ id: "refused", text: "S3CRET!" })), 204);
    assert.equal(await post(port, eventOf({ id: "refused", text: "S3CRET!" })), 204);
    const notes = await notesAbout("refused");
    assert.equal(notes.length, 1, notes.join("\n"));
    assert.match(notes[0] ?? "", /spec\.text is refused by the API server: FieldValueInvalid$/);
  });

  it("warns of what a policy denies, by the policy's name and without its message", async () => {
    const reasons = ["Forbidden", "Invalid", "RequestEntityTooLarge"] as const;
    const admission = { apiVersion: "admissionregistration.k8s.io/v1" } as const;
    const metadata = { name: "intake-texts" };
    const policy = {
      ...admission,
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        matchConstraints: {
          resourceRules: [
            {
              apiGroups: ["intake.example.com"],
              apiVersions: ["*"],
              operations: ["CREATE"],
              resources: ["commands"],
            },
          ],
        },
        validations: reasons.map((reason) => ({
          expression: `object.spec.text != '${reason.toLowerCase()}'`,
          message: 'unknown field "s3cret"',
          reason,
        })),
      },
    };
    const binding = {
      ...admission,
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: { policyName: metadata.name, validationActions: ["Deny"] },
    };
    for (const manifest of [policy, binding]) await api.apply(manifest);
    const { port } = await begin();
    for (const text of reasons.map((reason) => reason.toLowerCase())) {
      let tries = 0;
      // The API server learns of the policy after a while.
      await eventually(async () => {
        const id = `${text}-${++tries}`;
        assert.equal(await post(port, eventOf({ id, text })), 204);
        const [note = ""] = await notesAbout(id);
        assert.match(
          note,
          /the object is refused: ValidatingAdmissionPolicy 'intake-texts' with binding 'intake-texts' denied request$/,
        );
      });
    }
    for (const manifest of [binding, policy]) await api.delete(manifest);
  });

  it("leaves an event that only the old schema fits to the next intake, while the CRD is ahead", async () => {
    const crd = buildCustomResourceDefinition(operator);
    const spec = specSchemaOf(operator) as JsonObject & { properties: JsonObject };
    const schema = {
      ...spec,
      required: ["text", "stage"],
      properties: { ...spec.properties, stage: { type: "string" } },
    };
    const ahead = JSON.parse(JSON.stringify(crd).replace(JSON.stringify(spec), JSON.stringify(schema)));
    const { port } = await begin();
    let id = 0;
    const answer = (code: number) =>
      eventually(async () => assert.equal(await post(port, eventOf({ id: `ahead-${++id}` })), code));
    await api.apply(ahead);
    await answer(503);
    assert.deepEqual(await notesAbout(`ahead-${id}`), []);
    const mapping = { text: "body.text", stage: "'test'" };
    const next = await begin(0, { schema, spec: mapping });
    assert.equal(await post(next.port, eventOf({ id: `ahead-${id}` })), 204);
    const objects = await api.list(KIND, namespace);
    const made = objects.find(
      ({ metadata }) => metadata.annotations?.["argosy.dev/event-id"] === `ahead-${id}`,
    );
    assert.deepEqual(made?.["spec"], { text: "go", stage: "test", count: 1 });
    await api.apply(crd);
    await answer(204);
  });

  it("has the rights to do that, and no others", async () => {
    const account = `${home}/argosy-outside-intake`;
    const may = (call: string) => mayDo(api, account, parseCall(call));
    for (const call of [
      `create commands.intake.example.com in ${namespace}`,
      `get commands.intake.example.com x in ${namespace}`,
      "create events.events.k8s.io in default",
      "get customresourcedefinitions.apiextensions.k8s.io commands.intake.example.com",
      `get namespaces ${namespace}`,
    ])
      assert.equal(await may(call), true, call);
    for (const call of [
      `get namespaces ${home}`,
      `create commands.intake.example.com in ${home}`,
      "create commands.intake.example.com in default",
      `patch commands.intake.example.com x in ${namespace}`,
      `delete commands.intake.example.com x in ${namespace}`,
      `list commands.intake.example.com in ${namespace}`,
      `get secrets argosy-outside-caller in ${home}`,
      `get configmaps x in ${home}`,
      "get customresourcedefinitions.apiextensions.k8s.io others.example.com",
      `create events.events.k8s.io in ${namespace}`,
    ])
      assert.equal(await may(call), false, call);
    for (const name of ["argosy-outside-caller", "argosy-outside-sensor"])
      assert.equal(await mayDo(api, `${home}/${name}`, parseCall(`get secrets x in ${home}`)), false, name);
  });

  it("loses none of hundreds of events, some twice, some again, some poisonous, under faults of all that is around it", async () => {
    const COUNT = 400;
    const faults: number[] = [];
    proxy.before = ({ method }) => {
      if (method !== "POST" || randomInt(10) > 0) return undefined;
      const code = [429, 500, 503][randomInt(3)] ?? 503;
      faults.push(code);
      return { code };
    };
    const first = await begin();
    const ports = [first.port, (await begin()).port];
    const isPoison = (index: number) => index % 20 === 7;
    const dataOf = (index: number) =>
      eventOf({ id: `chaos-${index}`, ...(isPoison(index) && { text: undefined }) });
    const queue = Array.from({ length: COUNT }, (_, index) => index);
    // Delivered twice at once, and again later.
    const deliveries = [
      ...queue,
      ...queue.filter((index) => index % 5 === 0),
      ...queue.filter((index) => index % 9 === 0),
    ];
    let sent = 0;
    let unanswered = 0;
    const work = async () => {
      for (let next = deliveries.shift(); next !== undefined; next = deliveries.shift()) {
        sent++;
        for (;;) {
          const code = await post(ports[randomInt(2)] ?? 0, dataOf(next));
          if (code === 204) break;
          if (code === 0) unanswered++;
          await new Promise((resolve) => setTimeout(resolve, 50));
        }
      }
    };
    let isDone = false;
    const chaos = async () => {
      let { port } = first;
      let current = first;
      while (!isDone) {
        await new Promise((resolve) => setTimeout(resolve, 1_500));
        // One intake is killed, and begins again.
        await current.close();
        await new Promise((resolve) => setTimeout(resolve, 300));
        // Another process may have been given the port for a moment.
        current = await eventually(() => begin(port));
        ({ port } = current);
        // The API server is away for a while.
        const { before } = proxy;
        proxy.before = () => ({ code: 503 });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        proxy.before = before;
      }
    };
    const running = chaos();
    await Promise.all(Array.from({ length: 6 }, work));
    isDone = true;
    await running;
    proxy.before = () => undefined;

    const objects = (await api.list(KIND, namespace)).filter(({ metadata }) =>
      metadata.annotations?.["argosy.dev/event-id"]?.startsWith("chaos-"),
    );
    const ids = objects.map(({ metadata }) => metadata.annotations?.["argosy.dev/event-id"]);
    const expected = queue.filter((index) => !isPoison(index)).map((index) => `chaos-${index}`);
    assert.deepEqual([...ids].sort(), expected.sort());
    const notes = (await api.list({ apiVersion: "events.k8s.io/v1", kind: "Event" }, "default"))
      .map((event) => String(event["note"]))
      .filter((note) => note.includes('"chaos-'));
    const poison = queue.filter(isPoison).map((index) => `"chaos-${index}"`);
    assert.deepEqual(notes.map((note) => /"chaos-\d+"/.exec(note)?.[0]).sort(), poison.sort());
    assert.ok(sent > COUNT && unanswered > 0 && faults.length > 0, "no fault has come about");
  });
});
