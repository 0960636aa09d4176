/**
 * From the stored snapshots of older versions of the run request's machine to those of the next. Each is a pure
 * function of the version that it is named after.
 */
export const runRequestMigrations = {
  /** 2: what never changes stands apart; an engine run is an actor only when something is reported on it. */
  1: ({ context, ...snapshot }: any): unknown => {
    const {
      fingerprint,
      key_given,
      repository,
      span_id,
      parent_span_id,
      causation_id,
      gather_id,
      limits,
      ...internal
    } = context.internal
    const made = { fingerprint, key_given, repository, span_id, parent_span_id, causation_id, gather_id, limits }
    // Every engine run of that version is an actor: it is to hear of its end.
    const reported = context.engine_run_id === undefined ? {} : { reported: true }
    return { ...snapshot, context: { ...context, made, internal: { ...internal, ...reported } } }
  },
}
