import assert from "node:assert/strict";
import type { ArgoMode } from "../../components/manifests/platform/options";
import { checkPlatform } from "../../preflight/checkPlatform";
import type { Found } from "../../preflight/lookInCluster";
import type { KubernetesObject } from "../../runtime/base/objects";
import { fakeLook, found, SHOP } from "./support/fakeLook";
import { runStack } from "./support/program";

describe("bad input is refused before anything is registered:", () => {
  it("a configuration that makes no sense", async () => {
    const refuse = (settings: Record<string, string>, message: RegExp) =>
      assert.rejects(runStack("dev", { settings }), message);
    await refuse({ eventBusReplicas: "2" }, /argosy:eventBusReplicas is 2\. Give 1, or an odd number/);
    await refuse(
      { namespace: "argosy-system" },
      /argosy:controllerNamespace is "argosy-system", the same as namespace/,
    );
  });

  describe("Argo in the cluster:", () => {
    const foreign = found();
    const crds: Record<string, Found> = {
      "eventsources.argoproj.io": "absent",
      "workflows.argoproj.io": foreign,
    };
    const named = {
      namespace: "argosy",
      controllerNamespace: "argosy-system",
      instanceId: "argosy",
      namespaces: [],
      needed: [],
      coming: [],
      ...SHOP,
    };
    const problemsOf = async (argoEvents: ArgoMode, argoWorkflows: ArgoMode, there = crds) => {
      const platform = { ...named, argoEvents, argoWorkflows };
      return (await checkPlatform(fakeLook({ crds: there }), platform)).problems;
    };

    it("adopted or shared but absent", async () => {
      for (const mode of ["adopt", "share"] as const) {
        assert.deepEqual(await problemsOf(mode, "share"), [
          `argoEvents is "${mode}", but Argo Events is not in the cluster (no eventsources.argoproj.io). Set argoEvents to "install" (for Operators: platform: { argoEvents: "install" }), or install Argo Events first. If this program installs it, name it in the option dependsOn of this component.`,
        ]);
      }
    });

    it("with pods that need image volumes, which it does not have", async () => {
      const platform = {
        ...named,
        argoEvents: "none",
        argoWorkflows: "share",
        initlessPods: true,
      } as const;
      const look = fakeLook({ crds, keepsImageVolumes: false });
      const { problems } = await checkPlatform(look, platform);
      assert.match(
        problems.join("\n"),
        /^initlessPods is true, and the cluster has no image volumes\. .*Leave/,
      );
      assert.deepEqual((await checkPlatform(look, { ...platform, initlessPods: false })).problems, []);
    });

    it("adopted with other pods than its controller makes", async () => {
      const platform = {
        ...named,
        argoEvents: "none",
        argoWorkflows: "adopt",
        instanceId: "",
      } as const;
      const controller = {
        configMap: "argo/configuration",
        instanceId: "",
        initlessPods: true,
        takesOnlyTemplates: true,
      };
      const look = fakeLook({ crds, workflowControllers: [controller] });
      const { problems } = await checkPlatform(look, platform);
      assert.match(problems.join("\n"), /^argoWorkflows is "adopt" and initlessPods is false, .* to true\.$/);
      assert.deepEqual((await checkPlatform(look, { ...platform, argoWorkflows: "share" })).problems, []);
    });

    it("shared or adopted next to a controller that accepts any Workflow: a warning", async () => {
      const controller = { configMap: "argo/configuration", instanceId: "", initlessPods: false };
      const warningsOf = async (argoWorkflows: ArgoMode, takesOnlyTemplates: boolean) => {
        const look = fakeLook({ crds, workflowControllers: [{ ...controller, takesOnlyTemplates }] });
        const platform = { ...named, argoEvents: "none", argoWorkflows, instanceId: "" } as const;
        return (await checkPlatform(look, platform)).warnings;
      };
      for (const mode of ["share", "adopt"] as const) {
        const [warning = ""] = (await warningsOf(mode, false)) ?? [];
        assert.match(warning, /argo\/configuration accepts any Workflow\. .*namespace argosy,.*Strict/);
        assert.deepEqual(await warningsOf(mode, true), []);
      }
    });

    it("to be installed but there", async () => {
      const problems = await problemsOf("install", "install");
      assert.equal(problems.length, 1);
      assert.match(
        problems[0] ?? "",
        /argoWorkflows is "install", but Argo Workflows is already in the cluster.*"share".*"adopt"/,
      );
    });

    const by = (program: string) => {
      const labels = { "app.kubernetes.io/managed-by": "argosy" };
      return found({ labels, annotations: { "argosy.dev/program": program } });
    };

    it("installed by another program of Argosy, and not by this one: that may be the stack before it was renamed", async () => {
      const there = (program: string) => ({ ...crds, "workflows.argoproj.io": by(program) });
      assert.deepEqual(await problemsOf("install", "install", there("acme/shop/dev")), []);
      assert.deepEqual(await problemsOf("install", "install", there("acme/billing/dev")), [
        'argoWorkflows is "install", but Argo Workflows is already in the cluster (workflows.argoproj.io, from the stack acme/billing/dev). If acme/billing/dev is the former name of this stack: kubectl annotate --overwrite crd workflows.argoproj.io argosy.dev/program=acme/shop/dev, and change nothing in the program. Otherwise, set argoWorkflows to "share" (for Operators: platform: { argoWorkflows: "share" }) to install a second controller next to the existing one, or to "adopt" to use the existing one.',
      ]);
    });

    it("installed by a stack that has given it up: the way back is named", async () => {
      const givenUp = found({ labels: { "app.kubernetes.io/managed-by": "argosy" } });
      assert.deepEqual(
        await problemsOf("install", "install", { ...crds, "workflows.argoproj.io": givenUp }),
        [
          'argoWorkflows is "install", but Argo Workflows is already in the cluster (workflows.argoproj.io). If this stack should own it: run kubectl annotate crd workflows.argoproj.io argosy.dev/program=acme/shop/dev, and then pulumi up with data "keep". Otherwise, set argoWorkflows to "share" (for Operators: platform: { argoWorkflows: "share" }) to install a second controller next to the existing one, or to "adopt" to use the existing one.',
        ],
      );
    });

    it("that another component of the program installs, or may install", async () => {
      const absent = { "eventsources.argoproj.io": "absent", "workflows.argoproj.io": "absent" } as const;
      const platform = { ...named, argoEvents: "share", argoWorkflows: "adopt" } as const;
      const look = fakeLook({ crds: absent });
      const counts = [[], ["argoEvents"], ["argoEvents", "argoWorkflows"]] as const;
      const problems = counts.map(
        async (coming) => (await checkPlatform(look, { ...platform, coming })).problems.length,
      );
      assert.deepEqual(await Promise.all(problems), [2, 1, 0]);
    });

    it("that is being deleted", async () => {
      const going = (object: KubernetesObject): KubernetesObject => ({
        ...object,
        metadata: { ...object.metadata, deletionTimestamp: "2026-01-01T00:00:00Z" },
      });
      const there = { ...crds, "workflows.argoproj.io": going(foreign) };
      assert.deepEqual(await problemsOf("install", "share", there), [
        'argoWorkflows is "share", but Argo Workflows is being deleted (workflows.argoproj.io). Set argoWorkflows to "install" (for Operators: platform: { argoWorkflows: "install" }), or install Argo Workflows first. If this program installs it, name it in the option dependsOn of this component.',
      ]);
      const look = fakeLook({ crds: { "workflows.argoproj.io": going(by("acme/shop/dev")) } });
      const ours = await checkPlatform(look, { ...named, argoEvents: "none", argoWorkflows: "install" });
      assert.deepEqual(ours.problems, []);
      assert.match(ours.warnings?.join("") ?? "", /^the CRD it is being deleted\. .* pulumi up --refresh /);
      const namespaces = { argosy: going(by("acme/shop/dev")) };
      assert.deepEqual(await namespaceProblems(namespaces), [
        "the namespace argosy is being deleted. Wait until it is gone, and run pulumi up --refresh. If it stays: https://github.com/argosy-dev/argosy/blob/main/docs/tasks/uninstall.md#if-the-controllers-were-deleted-first",
      ]);
    });

    const namespaceProblems = async (namespaces: Record<string, Found>) => {
      const modes = { argoEvents: "none", argoWorkflows: "none" } as const;
      const platform = { ...named, ...modes, namespaces: ["argosy", "argosy-system"] };
      return (await checkPlatform(fakeLook({ namespaces }), platform)).problems;
    };

    it("in namespaces that exist already, and that this program has not created", async () => {
      assert.deepEqual(
        await namespaceProblems({ argosy: by("acme/shop/dev"), "argosy-system": "absent" }),
        [],
      );
      assert.deepEqual(await namespaceProblems({ argosy: found(), "argosy-system": by("acme/shop/prod") }), [
        'createNamespaces is true, but the namespace argosy exists already. If this stack should own it: run kubectl annotate namespace argosy argosy.dev/program=acme/shop/dev, and then pulumi up with data "keep". Otherwise, set createNamespaces to false, or name another namespace.',
        "createNamespaces is true, but the namespace argosy-system exists already, from the stack acme/shop/prod. If acme/shop/prod is the former name of this stack: kubectl annotate --overwrite namespace argosy-system argosy.dev/program=acme/shop/dev, and change nothing in the program. Otherwise, set createNamespaces to false, or name another namespace.",
      ]);
    });

    it("that is not used is not looked for, and not to be seen is no reason to refuse", async () => {
      assert.deepEqual(await problemsOf("none", "none"), []);
      assert.deepEqual(await problemsOf("adopt", "install", {}), []);
      assert.deepEqual(await namespaceProblems({}), []);
    });
  });
});
