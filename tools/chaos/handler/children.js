/**
 * The handler's children for an object, as a pure function. It runs in the handler's process, and also in the check of a run, to
 * compute the expected children. Every child contains the number of the change, so that an old result shows.
 */
function childrenOf(name, spec, version) {
  const labels = { app: name };
  const text = `${spec.value} by ${version}`;
  const configMap = (metadata) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { ...metadata, labels },
    data: { value: text },
  });
  const children = Array.from({ length: spec.maps }, (_, at) => configMap({ name: `${name}-${at}` }));
  if (spec.far) children.push(configMap({ name, namespace: spec.far }));
  if (spec.secret) {
    const data = { value: Buffer.from(text).toString("base64") };
    children.push({ apiVersion: "v1", kind: "Secret", metadata: { name: `${name}-secret`, labels }, data });
  }
  if (spec.service) {
    const ports = [{ port: 1 + (spec.value % 60_000) }];
    const metadata = { name, labels, annotations: { text } };
    children.push({ apiVersion: "v1", kind: "Service", metadata, spec: { ports, selector: labels } });
  }
  return children;
}

module.exports = { childrenOf };
