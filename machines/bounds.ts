/**
 * Bounds and defaults of the documents that the command line or a runner needs, too. Bare numbers, apart from the
 * schemas: every command loads them, and loading the schemas would cost each a twentieth of its start (9 ms).
 */

/** How many tasks a campaign may dispatch if nobody says. */
export const DEFAULT_MAX_CYCLES = 20
/** The most tasks that a campaign can be given at once. */
export const CYCLES_MAX = 1_000
/** The most assessments and actions that an initiative's budget may allow: their traces are kept in one record. */
export const BUDGET_MAX = 1_000
/** The most runs that a project may let change its repository at the same time. */
export const WRITERS_MAX = 1_000
/** The most lines quoted from each of the two output streams of a gate's command (SPEC 6.11). */
export const GATE_OUTPUT_LINES_MAX = 200
/** The longest text of one `run_output`, bytes in UTF-8. */
export const OUTPUT_BYTES_MAX = 64 * 1024
/** The most observations in one post. */
export const OBSERVATIONS_A_POST_MAX = 100
