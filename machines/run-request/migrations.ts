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
  // 3: waiting requests are indexed by demand.
  2: (snapshot: unknown) => snapshot,
  // 4: reports work that had begun while it was being stopped.
  3: (snapshot: unknown) => snapshot,
  // 5: the grace period of a stop is a deadline, no longer a timer.
  4: (snapshot: unknown) => snapshot,
  // 6: counts as begun if its runner reports it after a restore.
  5: (snapshot: unknown) => snapshot,
  // 7: tells its runner of an outage of the provider, and may wait for its end.
  6: (snapshot: unknown) => snapshot,
  // 8: may be cancelled only if it has not begun.
  7: (snapshot: unknown) => snapshot,
}
