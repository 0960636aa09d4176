/** Of a formation brief: a run may be asked for, or one waits. */
export const TO_BE_RUN: ReadonlySet<string> = new Set(['approved', 'compiled', 'queued'])
