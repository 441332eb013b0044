import type { Step } from "../scene";
import type { Stage } from "../stage";
import { SESSIONS } from "./names";

/** The main job: from nothing to running instances, and healing. */
export const childrenSteps: readonly Step<Stage>[] = [
  {
    title: "a new Memcached gets a Deployment and a Service",
    async play(stage) {
      await stage.createMemcached(SESSIONS, 2);
      const deployment = await stage.until("there is a Deployment", () => stage.deployment(SESSIONS));
      const service = await stage.until("there is a Service", () => stage.service(SESSIONS));
      return `Deployment ${deployment.metadata.name}, Service ${service.metadata.name}`;
    },
  },
  {
    title: "they become ready, and its status says so",
    async play(stage) {
      const { status } = await stage.untilReady(SESSIONS, 2);
      return `Ready True, readyReplicas ${status?.readyReplicas}`;
    },
  },
  {
    title: "if the Memcached is scaled up, its Deployment follows",
    async play(stage) {
      await stage.resize(SESSIONS, 3);
      const { status } = await stage.untilReady(SESSIONS, 3);
      const deployment = await stage.deployment(SESSIONS);
      return `replicas ${deployment?.spec.replicas}, readyReplicas ${status?.readyReplicas}`;
    },
  },
  {
    title: "a child that was edited by hand is restored",
    async play(stage) {
      await stage.editReplicas(SESSIONS, 7);
      await stage.until("the Deployment has 3 replicas again", async () => {
        const deployment = await stage.deployment(SESSIONS);
        return deployment?.spec.replicas === 3 ? deployment : undefined;
      });
      await stage.untilReady(SESSIONS, 3);
      return "replicas 7 by hand, 3 again";
    },
  },
  {
    title: "a deleted child comes back",
    async play(stage) {
      const before = await stage.service(SESSIONS);
      await stage.deleteService(SESSIONS);
      await stage.until("there is a new Service", async () => {
        const service = await stage.service(SESSIONS);
        return service && service.metadata.uid !== before?.metadata.uid ? service : undefined;
      });
      return `Service ${SESSIONS}, with a new uid`;
    },
  },
];
