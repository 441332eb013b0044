/** What a bound limits, as in the names of its changes. */
export type LowerBound = "minimum" | "min-length" | "min-items" | "min-properties";
/** @see LowerBound */
export type UpperBound = "maximum" | "max-length" | "max-items" | "max-properties";

type OfTheSet = "crd-removed" | "crd-added";

type OfNames =
  | "group-changed"
  | "plural-changed"
  | "kind-changed"
  | "list-kind-changed"
  | "singular-changed"
  | "scope-changed"
  | "short-name-removed"
  | "short-name-added"
  | "category-removed"
  | "category-added";

type OfVersions =
  | "version-removed"
  | "version-added"
  | "version-unserved"
  | "version-served"
  | "version-deprecated"
  | "version-undeprecated"
  | "storage-version-changed"
  | "conversion-webhook-removed"
  | "conversion-webhook-added"
  | "conversion-webhook-changed"
  | "status-subresource-removed"
  | "status-subresource-added"
  | "scale-subresource-removed"
  | "scale-subresource-added"
  | "scale-subresource-changed"
  | "selectable-field-removed"
  | "selectable-field-added"
  | "printer-columns-changed";

type OfFields =
  | "field-removed"
  | "field-added"
  | "required-added"
  | "required-removed"
  | "additional-properties-removed"
  | "additional-properties-added"
  | "unknown-fields-pruned"
  | "unknown-fields-preserved"
  | "embedded-resource-removed"
  | "embedded-resource-added";

type OfValues =
  | "type-changed"
  | "type-widened"
  | "nullable-removed"
  | "nullable-added"
  | "default-removed"
  | "default-added"
  | "default-changed"
  | "enum-added"
  | "enum-removed"
  | "enum-value-removed"
  | "enum-value-added"
  | "pattern-added"
  | "pattern-removed"
  | "pattern-changed"
  | "format-added"
  | "format-removed"
  | "format-changed"
  | "multiple-of-tightened"
  | "multiple-of-loosened"
  | "unique-items-added"
  | "unique-items-removed"
  | `${LowerBound | UpperBound}-${"raised" | "lowered"}`;

type OfRules =
  | "validation-rule-added"
  | "validation-rule-removed"
  | "composition-tightened"
  | "composition-loosened";

type OfTopology = "list-type-changed" | "list-map-keys-changed" | "map-type-changed";

/** What has changed, in one word for programs. */
export type ChangeKind =
  | OfTheSet
  | OfNames
  | OfVersions
  | OfFields
  | OfValues
  | OfRules
  | OfTopology
  | "description-changed";
