import { isRecord } from "../json/json";

/** All values of a Secret in base64, by key: `stringData` as well, in the form in which the API server stores it. */
export function secretDataOf({
  data,
  stringData,
}: {
  readonly [field: string]: unknown;
}): Record<string, unknown> {
  const texts = Object.entries(isRecord(stringData) ? stringData : {}).map(([key, text]) => [
    key,
    typeof text === "string" ? Buffer.from(text).toString("base64") : text,
  ]);
  return { ...(isRecord(data) ? data : {}), ...Object.fromEntries(texts) };
}
