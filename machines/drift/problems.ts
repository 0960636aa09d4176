/** Statuses in which something is wrong. Apart from status.ts, because every command of the command line loads them. */
import type { DriftStatus } from '../documents/drift.ts'

export const PROBLEMS: ReadonlySet<DriftStatus> = new Set(['contradicted', 'drifted', 'threatened'])
