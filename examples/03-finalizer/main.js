/** A mailbox at a provider outside the cluster for each Mailbox. */
export async function reconcile({ object, dryRun }) {
  // The uid is its key there: asked twice, there is one. By its name, a later object would inherit the mailbox.
  const id = object.metadata.uid;
  const { address, megabytes } = object.spec;
  const error = dryRun ? undefined : await ask("PUT", id, { address, megabytes });
  return error ? { error } : { children: [], status: { id } };
}

/** Called until it returns true, and also for an object that was never reconciled. */
export async function finalize({ object, dryRun }) {
  const error = dryRun ? undefined : await ask("DELETE", object.metadata.uid);
  return error ? { error } : { finalized: true };
}

/** @returns the error to report; undefined if the provider did what it was asked for */
async function ask(method, id, content) {
  const request = {
    method,
    headers: { "Content-Type": "application/json" },
    body: content && JSON.stringify(content),
    signal: AbortSignal.timeout(10_000),
  };
  let response;
  try {
    response = await fetch(`${process.env.PROVIDER}/mailboxes/${id}`, request);
  } catch (error) {
    return { message: `the provider cannot be reached: ${error.cause?.code ?? error.message}` };
  }
  await response.arrayBuffer();
  // What is gone already is what was asked for.
  if (response.ok || (method === "DELETE" && response.status === 404)) return undefined;
  const message = `the provider answered ${response.status} to ${method}`;
  // If the request is to blame, another try is of no use until the object changes.
  return { message, permanent: [400, 409, 422].includes(response.status) };
}
