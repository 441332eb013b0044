import { isRecord } from "../../runtime/program";
import { SSL_MODES } from "../manifests/platform/archive";
import { DNS_LABEL, fields, integer, oneOf, optional, pattern, type Shape } from "./shape";

/** A century: beyond it, Argo's time overflows. */
const MOST_DAYS = 36_500;

const given = fields(
  {
    host: pattern(/^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$/, "a host", "Give its name or address."),
    port: optional(integer(1, 65_535, "Leave it out for 5432.")),
    database: pattern(/^[A-Za-z_][A-Za-z0-9_-]{0,62}$/, "the name of a database", "Give its name."),
    secret: pattern(
      /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/,
      "the name of a Secret",
      "Name one in the controllers' namespace, with the keys username and password.",
    ),
    sslMode: optional(oneOf(SSL_MODES, 'Leave it out for "require".')),
    keptDays: optional(integer(1, MOST_DAYS, "Leave it out for 90.")),
    // Argo writes it into the statements that make its tables (persist/sqldb/migrate.go).
    cluster: optional(pattern(DNS_LABEL, "a DNS label", 'Leave it out for "default".')),
  },
  "Give host, database and secret, or {} for none.",
);

/** The shape of an archive's options, or of none: {}. */
export const ARCHIVE_SHAPE: Shape = {
  remedy: given.remedy,
  check(value, field, report) {
    if (!isRecord(value) || Object.keys(value).length > 0) given.check(value, field, report);
  },
};
