/**
 * Migrations of stored run request snapshots to the next version of the machine. Each is a pure function, keyed by the
 * version it migrates from.
 */
export const runRequestMigrations = {
  /** 2: members that never change are kept apart; an engine run is an actor only if something was reported on it. */
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
    // In that version every engine run is an actor, so it must be told of its end.
    const reported = context.engine_run_id === undefined ? {} : { reported: true }
    return { ...snapshot, context: { ...context, made, internal: { ...internal, ...reported } } }
  },
}
