/**
 * The work of a settled item once more, as a new item: which items may be asked for again, and what is sent for it.
 * The command line and the console share it. Its key derives from the old item, so asking twice makes no second item.
 */

/** A work item as the API answers it. */
type Answered = Readonly<Record<string, any>>

/** What a run has asked a person, as its terminal event puts it. */
export interface Question {
  readonly finding: string
  /** The answers that the run sees. */
  readonly options: readonly string[]
}

/** The event of an item's trace that may hold its question; undefined: it has asked nothing. */
export function questionIn(taskRunCompleted: Answered | undefined): Question | undefined {
  const { verdict, finding, summary, options = [] } = taskRunCompleted?.payload ?? {}
  return verdict === 'blocked_on_decision' ? { finding: finding ?? summary, options } : undefined
}

/** Whether its campaign or initiative decides itself what follows. An initiative does not for the tasks it has started. */
export function isForItsSource({ source }: Answered): boolean {
  return source?.role !== undefined && !(source.kind === 'initiative' && source.role === 'cycle')
}

/** Whether the same work may be submitted again. Work preserved under a ref is resumed instead. */
export function isRetried({ state, disposition }: Answered): boolean {
  if (state === 'preserved') return disposition?.preservation_ref === undefined
  return state === 'failed' || state === 'cancelled'
}

/** The objective of the item that continues with what was decided. */
export function objectiveAnswered(old: Answered, question: Question | undefined, decision: string): string {
  return `${old.objective}\n\n${told(question, old)}\nDecision: ${decision}`
}

/** What the new item says of the question; in the words of the old item where the event is not kept any more. */
function told(question: Question | undefined, { state, reason, operator_action: last }: Answered): string {
  const said: string = state === 'cancelled' ? last.previous_reason : reason
  const { finding, options } = question ?? { finding: said.replace(/^decision needed: /, ''), options: [] }
  const choices = options.length === 0 ? '' : `\nOptions: ${options.join('; ')}`
  return `An earlier run asked for a decision: ${finding}${choices}`
}

interface Post {
  readonly path: string
  readonly body: Record<string, unknown>
}

export interface Anew extends Post {
  readonly idempotencyKey: string
  /** What is posted next, with the new item's id: it closes the old one. Undefined: the old one is over. */
  readonly closing: ((made: string) => Post) | undefined
}

const CLOSED_AS = { retry: 'repeated', answer: 'answered' } as const

/** What is posted for it. */
export function anew(old: Answered, as: keyof typeof CLOSED_AS, objective: string): Anew {
  const path = `/api/work-items/${old.id}/close`
  const closing = (made: string): Post => ({ path, body: { reason: `${CLOSED_AS[as]} as ${made}` } })
  const isOver = old.state === 'landed' || old.state === 'cancelled'
  return { ...submitted(old, objective), idempotencyKey: `${as}:${old.id}`, closing: isOver ? undefined : closing }
}

/**
 * The new item starts from the ref that the old one kept. Where the old one kept none but had
 * resumed preserved work, that work is resumed again, so that both land with the new item.
 */
function submitted(old: Answered, objective: string): Post {
  const ref = old.disposition?.preservation_ref
  if (ref === undefined && old.resumes !== undefined)
    return { path: `/api/work-items/${old.resumes}/resume`, body: { objective } }
  const { project, kind, lane, payload, context, labels, runner_id, timeout_seconds } = old
  const same = { project, objective, kind, lane, payload, context, labels, runner_id, timeout_seconds }
  // An item that has begun has waited for these already.
  const { depends_on, not_before } = old.started_at === undefined ? old : {}
  const body = { ...same, base_ref: ref ?? old.base_ref, depends_on, not_before, repeats: old.id }
  return { path: '/api/work-items', body }
}
