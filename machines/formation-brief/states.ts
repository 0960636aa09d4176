/** States of a formation brief in which a run may be requested, or one is queued. */
export const TO_BE_RUN: ReadonlySet<string> = new Set(['approved', 'compiled', 'queued'])
