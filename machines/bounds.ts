/**
 * Bounds and defaults that the documents hold to, and that the command line or a runner knows, too. Bare numbers, apart from
 * the schemas: every command loads them, and the schemas of these documents would cost each one a twentieth of its start (9 ms).
 */

/** Tasks that a campaign may dispatch, where nobody says how many. */
export const DEFAULT_MAX_CYCLES = 20
/** Most tasks that a campaign is given at once. */
export const CYCLES_MAX = 1_000
/** Most assessments and actions that an initiative's budget may allow: what they leave behind is kept in one record. */
export const BUDGET_MAX = 1_000
/** Lines that are quoted at most of each of the two streams of a gate's command (SPEC 6.11). */
export const GATE_OUTPUT_LINES_MAX = 200
/** Longest text of one `run_output`, bytes in UTF-8. */
export const OUTPUT_BYTES_MAX = 64 * 1024
/** Most observations of one post. */
export const OBSERVATIONS_A_POST_MAX = 100
