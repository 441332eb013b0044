import type { JsonObject, PolicyRule } from "../../../runtime/program";
import type { ArgoProgram } from "../deployment";

/** How a connection to PostgreSQL is secured (https://www.postgresql.org/docs/current/libpq-ssl.html). */
export const SSL_MODES = ["disable", "require", "verify-ca", "verify-full"] as const;

/** The archive of Argo Workflows. The argument `archive` says what each field means. */
export interface ArchiveOptions {
  readonly host: string;
  readonly port?: number;
  readonly database: string;
  readonly secret: string;
  readonly sslMode?: (typeof SSL_MODES)[number];
  readonly keptDays?: number;
  readonly clusterName?: string;
}

/** The default port of PostgreSQL. */
const PORT = 5432;
const KEPT_DAYS = 90;
/** Where the certificate is mounted, and the name of the volume. */
const AUTHORITY_FOLDER = "/etc/argosy/archive";
const AUTHORITY = "archive-certificate-authority";

/**
 * `persistence` of the Workflow controller's configuration (argo-workflows, config/config.go). The status of nodes stays in the
 * Workflow, because our runs have one or two nodes.
 */
export function buildPersistence(archive: ArchiveOptions): JsonObject {
  const { host, port = PORT, database, secret, sslMode = "require", keptDays = KEPT_DAYS } = archive;
  return {
    archive: true,
    archiveTTL: `${keptDays}d`,
    clusterName: archive.clusterName ?? "default",
    // Connections of the controller and of argo-server each. The controller archives eight runs at once.
    connectionPool: { maxOpenConns: 10, maxIdleConns: 2, connMaxLifetime: "10m" },
    reconnectionConfig: RECONNECTION,
    postgresql: {
      host,
      port,
      database,
      tableName: "argo_workflows",
      userNameSecret: { name: secret, key: "username" },
      passwordSecret: { name: secret, key: "password" },
      ssl: sslMode !== "disable",
      sslMode,
    },
  };
}

/**
 * Tries for ever: a client that has given up never tries again until it is restarted (argo-workflows, util/sqldb/session.go). It
 * gives up after a first answer that is a refusal, too, such as that of a database that is just starting. So it does not try too
 * often.
 */
const RECONNECTION = { maxRetries: 1_000_000, baseDelaySeconds: 15, maxDelaySeconds: 30, retryMultiple: 1 };

/**
 * Environment of the Workflow controller. It must not ask the archive how long a new run will take, because it would not begin
 * that run while the database is away (argo-workflows, workflow/controller/estimation).
 */
export const ARCHIVE_ENVIRONMENT = { SKIP_WORKFLOW_DURATION_ESTIMATION: "true" };

/** The right to read these credentials, and no others. */
export function archiveRules({ secret }: ArchiveOptions): PolicyRule[] {
  return [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"], resourceNames: [secret] }];
}

/** A program that connects to the archive, with the certificate that it needs to verify the database's certificate. */
export function withCertificateAuthority(
  program: ArgoProgram,
  archive: ArchiveOptions | undefined,
): ArgoProgram {
  if (!archive?.sslMode?.startsWith("verify-")) return program;
  const { env = [], volumeMounts = [] } = program.container;
  const items = [{ key: "ca.crt", path: "ca.crt" }];
  return {
    ...program,
    container: {
      ...program.container,
      env: [...env, { name: "PGSSLROOTCERT", value: `${AUTHORITY_FOLDER}/ca.crt` }],
      volumeMounts: [...volumeMounts, { name: AUTHORITY, mountPath: AUTHORITY_FOLDER, readOnly: true }],
    },
    volumes: [...(program.volumes ?? []), { name: AUTHORITY, secret: { secretName: archive.secret, items } }],
  };
}
