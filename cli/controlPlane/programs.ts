import { etcdVersion, kubernetesVersion, kwokVersion } from "./versions";

/** The names of a control plane's programs, kwokctl's helpers included. */
export const programNames = [
  "kwokctl",
  "kwok",
  "etcd",
  "kube-apiserver",
  "kube-controller-manager",
  "kube-scheduler",
  "kubectl",
] as const;

/** One of {@link programNames}. */
export type ProgramName = (typeof programNames)[number];

/** The absolute path of each program on this machine. */
export type ProgramPaths = Readonly<Record<ProgramName, string>>;

/** A version of a Go module from which one or more programs are built. */
export interface Release {
  /** Short name, part of folder names: "kubernetes". */
  readonly name: string;
  /** Version with its v: "v1.34.1". */
  readonly version: string;
  /** Path of the Go module: "k8s.io/kubernetes". */
  readonly module: string;
}

/** A program, and where to get it. */
export interface Program {
  readonly name: ProgramName;
  readonly release: Release;
  /** Go package with its main function. */
  readonly goPackage: string;
}

const kubernetes: Release = { name: "kubernetes", version: kubernetesVersion, module: "k8s.io/kubernetes" };
const etcd: Release = { name: "etcd", version: etcdVersion, module: "go.etcd.io/etcd/server/v3" };
const kwok: Release = { name: "kwok", version: kwokVersion, module: "sigs.k8s.io/kwok" };

/** Every program, in the order in which missing ones are provided. */
export const programs: readonly Program[] = programNames.map((name) => {
  if (name === "etcd") return { name, release: etcd, goPackage: etcd.module };
  const release = name === "kwok" || name === "kwokctl" ? kwok : kubernetes;
  return { name, release, goPackage: `${release.module}/cmd/${name}` };
});
