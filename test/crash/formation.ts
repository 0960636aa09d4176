/** The agent that forms the campaigns' steps during the kills. */

export const CYCLES = 2

/** What a formation agent answers: one task after another, then done. The last task's summary says which it was. */
export function formed({ run_result }: { readonly run_result?: { readonly summary?: string } }): object {
  const cycle = Number(run_result?.summary ?? 0)
  if (cycle >= CYCLES) return { decision: 'done', reason: `${cycle} tasks are done` }
  return { decision: { decision: 'advance', reason: 'there is more', objective: `Step ${cycle + 1}` } }
}
