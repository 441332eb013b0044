import { isIP } from "node:net";
import { complainIn, fields, filledListOf, integer, listOf, text } from "../checks";
import { labels, namespaceName } from "./terms";

const REMEDY =
  "Write, for example, { cidr: 203.0.113.0/24, ports: [443] } or { namespace: shop, ports: [8080] }.";

/** Fields that an author may write to name a host. A NetworkPolicy has none (kubernetes, pkg/apis/networking/types.go). */
const NAMED = [
  "names a host, and a NetworkPolicy knows only addresses and pods",
  "Write the range of its addresses: cidr: 203.0.113.0/24. For names, use the policies of your network plugin, or a proxy.",
] as const;

const cidr = text("Give a range of addresses, for example 203.0.113.0/24.", (range) => {
  const [address = "", prefix, ...more] = range.split("/");
  // With a zone, it is one only on the machine that has this zone.
  const version = address.includes("%") ? 0 : isIP(address);
  if (version === 0)
    return `is "${range}", which is not a range of addresses. A NetworkPolicy cannot name a host`;
  if (prefix === undefined)
    return `is "${range}", an address without the length of its prefix: /${version === 4 ? 32 : 128}`;
  const isLength =
    more.length === 0 && /^(0|[1-9]\d{0,2})$/.test(prefix) && Number(prefix) <= (version === 4 ? 32 : 128);
  return isLength ? undefined : `is "${range}", which is not a range of addresses`;
});

/** Where pods may connect to: a range of addresses, or pods of a namespace, at these ports. */
export const DESTINATION = fields(
  {
    cidr: cidr.optional().describe("A range of addresses: 203.0.113.0/24, 2001:db8::/32."),
    namespace: namespaceName("shop")
      .optional()
      .describe("The namespace of pods. Either cidr or namespace is given."),
    podLabels: labels("Give labels of pods, for example { app: collector }.")
      .optional()
      .describe("Labels of the pods, if not all pods of that namespace are meant."),
    ports: filledListOf(
      integer(1, 65_535, "Give a port, for example 443."),
      "List ports, for example [443].",
    ).describe("The ports of TCP."),
  },
  REMEDY,
  { host: NAMED, hosts: NAMED, hostname: NAMED, domain: NAMED, fqdn: NAMED, url: NAMED },
).superRefine(({ cidr: range, namespace, podLabels }, context) => {
  const complain = complainIn(context);
  if ((range === undefined) === (namespace === undefined))
    complain([], range === undefined ? "has neither cidr nor namespace" : "has cidr and namespace", REMEDY);
  else if (range !== undefined && podLabels)
    complain(["podLabels"], "is given together with cidr", "Give it together with namespace.");
});

/** The content of `egress`. An empty list: nothing but what every runner needs. */
export const EGRESS = listOf(DESTINATION, `List destinations, or leave it out for all. ${REMEDY}`);
