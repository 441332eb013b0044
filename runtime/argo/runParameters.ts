/** Parameters of all of our WorkflowTemplates. Each has the default "". */
export const RUN_PARAMETERS = {
  /** Namespace of the custom resource; "" for one of cluster scope. */
  namespace: "namespace",
  /** Name of the custom resource. */
  name: "name",
  /** The uid of the custom resource, if the submitter knows it. A run for another object of the same name does nothing. */
  uid: "uid",
  /**
   * A whole object as JSON. The handler is tried on this object alone, nothing is applied, and the handler's answer is the
   * output.
   */
  object: "object",
  /** A schedule of the operator that should be due in the run. Only operators with schedules have the parameter. */
  schedule: "schedule",
} as const;

/** A further parameter of the WorkflowTemplates of operators with `uses`, with the default "". */
export const USED_PARAMETER = {
  /** Beside `object`: examples of what the object uses, as JSON. A trial reads nothing of the cluster. */
  used: "used",
} as const;

/** The output of a run that says how long its steps took, as text. */
export const TIMINGS_OUTPUT = "timings";
