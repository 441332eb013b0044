import { pattern, quoted, text } from "../checks";
import { DNS_LABEL } from "./terms";

/** An operator's name becomes part of longer names. The most limited of these is a Service's name, with 63 characters. */
const LONGEST_NAME = 40;

/** The longest installation: with a dot and the longest name, an identity still fits into a label. */
const LONGEST_INSTALLATION = 20;

/** An operator's name. A Service's name begins with it, and must begin with a letter (RFC 1035). */
export const NAME = pattern(
  new RegExp(`^(?=.{1,${LONGEST_NAME}}$)[a-z]([-a-z0-9]*[a-z0-9])?$`),
  `a DNS label of at most ${LONGEST_NAME} characters that begins with a letter`,
  `Use at most ${LONGEST_NAME} lower-case letters, digits and "-", a letter first, for example name: memcached.`,
);

/** The endings that parts of an installation add to its name: see components/manifests/names.ts. */
const ENDS_OF_PARTS = /-(outside|outside-single|shard-[0-9]+)$/;

/** The installation, which distinguishes the operators of one program from those of others in the same cluster. */
export const INSTALLATION = pattern(
  new RegExp(`^(?=.{1,${LONGEST_INSTALLATION}}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?$`),
  `a DNS label of at most ${LONGEST_INSTALLATION} characters`,
  `Use at most ${LONGEST_INSTALLATION} lower-case letters, digits and "-", for example "argosy".`,
).refine((installation) => !ENDS_OF_PARTS.test(installation), {
  error: ({ input }) =>
    `is ${quoted(String(input))}, which ends like a part of another installation\nUse a name that does not end in "-outside", "-outside-single" or "-shard-" and a number.`,
});

/** A name that an operator had, alone or with its installation. */
export const FORMER_NAME = text(
  "Give a name that the operator had, for example cache, or with its installation, shop.cache.",
  (former) => {
    const [name = "", ...installations] = former.split(".").reverse();
    const isIdentity =
      isShort(name, LONGEST_NAME) &&
      installations.length <= 1 &&
      installations.every((installation) => isShort(installation, LONGEST_INSTALLATION));
    return isIdentity ? undefined : `is ${quoted(former)}, which cannot be an operator's name`;
  },
);

function isShort(label: string, longest: number): boolean {
  return label.length <= longest && DNS_LABEL.test(label);
}
