/** The statuses in which something is wrong. Apart from how they are found (status.ts): every command of the command line loads these. */
import type { DriftStatus } from '../documents/drift.ts'

export const PROBLEMS: ReadonlySet<DriftStatus> = new Set(['contradicted', 'drifted', 'threatened'])
