/** How the API server says that an admission webhook or a policy denies a request, with the name of the webhook or the policy. */
const DENIAL =
  /^(?:\S+ (?:"[^"]*" )?is forbidden: )?((?:admission webhook|ValidatingAdmissionPolicy|policy) (?:"[^"]*"|'[^']*')(?: with binding '[^']*')? denied (?:the )?request)\b/;

/**
 * Every sentence of the API server that distinguishes a refusal from others with the same code and reason. Kubernetes promises
 * none of them. With another wording, such a refusal would count as any other one.
 *
 * Contract (tests/integration/sentences.test.ts): each is provoked on an API server of each release that CI runs.
 *
 * Guarantee (tests/unit/apiErrors.test.ts): each is looked for in no more time than a message is long. A message may quote 1 MiB.
 */
export const SENTENCES = {
  /**
   * A webhook or a policy denies the request (kubernetes, staging/src/k8s.io/apiserver/pkg/admission/plugin:
   * webhook/errors/statuserror.go, policy/validating/dispatcher.go, policy/generic/policy_dispatcher.go).
   */
  denial: DENIAL,
  /**
   * A policy, or one of its bindings, could not be applied at all, for example because its parameters are missing or not read yet
   * (policy/generic/policy_dispatcher.go, addConfigError). A webhook's own message follows "denied the request".
   */
  unappliedPolicy: new RegExp(
    `${DENIAL.source}(?<= denied request): failed to configure (?:policy|binding): `,
  ),
  /** A webhook that must allow the request does not answer (webhook/validating/dispatcher.go). */
  unansweredWebhook: /^Internal error occurred: failed calling webhook /,
  /** A webhook or a policy refuses the request, or does not answer. */
  policy: /admission webhook|failed calling webhook|ValidatingAdmissionPolicy/,
  /** The account has no right to the request. A policy or a webhook that refuses with 403 says something else. */
  missingRight: /\bcannot \w+ (resource|path)\b/,
  /** A role would grant rights that the account does not hold (pkg/registry/rbac/validation/rule.go). */
  escalation: /RBAC permissions not currently held/,
  /**
   * A field manager of a custom resource wrote it in a version that the CRD has no longer
   * (https://github.com/kubernetes/kubernetes/issues/111937). An update forgets such entries; seen with 1.34.
   */
  goneVersion: /^request to convert CR to an invalid group\/version: \S+$/,
  /** What is stored does not fit the schema (staging/src/k8s.io/apimachinery/pkg/util/managedfields/internal/structuredmerge.go). */
  misfit: /^failed to (create typed live object|create manager for existing fields)/,
  /** A field cannot be changed. A rule of a CRD compares it with its old value. */
  fixed:
    /immutable|may not (be )?change|cannot (be )?change|are forbidden|failed rule: (?:(?!failed rule: ).)*\boldSelf\b/,
  /** A value of a Secret's `data` is not base64. */
  noBase64: /\billegal base64 data\b/,
  /** A value is not a string. */
  noString: /: expected string, got /,
  /** A creation that is checked strictly has a field that the schema does not know (staging/src/k8s.io/apimachinery/pkg/runtime). */
  unknownField: /unknown field "([^"]*)"/,
  /**
   * Other objects hold what an object needs: the room of a ResourceQuota (staging/src/k8s.io/apiserver/pkg/admission/plugin/resourcequota),
   * a port or an address (pkg/registry/core/service), or something of which a webhook allows only one, such as the host of an Ingress.
   */
  taken: / exceeded quota: |\balready (allocated|defined|in use|marked)\b/,
  /** The object is larger than etcd accepts (https://github.com/etcd-io/etcd/blob/main/api/v3rpc/rpctypes/error.go). */
  tooLarge: /etcdserver: request is too large/,
  /** etcd has no leader, is too slow or is full: the same file. */
  etcdTrouble: /etcdserver: (?!request is too large)|rpc error: code = Unavailable/,
  /** The API server cannot fill its cache with a kind (staging/src/k8s.io/apiserver/pkg/storage/cacher/ready.go). */
  uncached: /^storage is \(re\)initializing/,
} as const;
