/**
 * Internal messages (a delivery, a timer, a deadline) whose step threw or could not be stored. Nobody waits for an
 * answer, yet none may be lost: each keeps its row and is retried, at growing intervals, until its actor's state has
 * changed or a newer program can take it. Later messages from the same sender wait behind it: a later one applied first
 * would mark the earlier one as applied.
 */
import type { ActorRef } from '../machines/machine.ts'
import type { Actor, ActorTable, Mail } from './actor.ts'
import type { Answer, Platform } from './api.ts'
import type { Batch } from './batch.ts'
import { pauseMs } from './control/backoff.ts'
import { setAsideRetryMsMax } from './limits.ts'
import type { Logger } from './log.ts'
import { Alarm } from './time/alarm.ts'

interface Entry {
  readonly ref: ActorRef
  /** Those of one sender in the order it sent them. */
  mail: Mail[]
  /** Failures since the last message that did not throw. */
  failures: number
  /** Monotonic time of the next try; infinite while one is under way. */
  dueMs: number
}

interface SetAsideParts {
  readonly platform: Platform
  readonly log: Logger
  readonly actors: Pick<ActorTable, 'get'>
  /** Hands the messages over again, before all that wait for the actor. */
  readonly tryAgain: (actor: Actor, mail: readonly Mail[]) => void
}

export class SetAside {
  private readonly parts: SetAsideParts
  /** By the actor's key. */
  private readonly entries = new Map<string, Entry>()
  private readonly alarm: Alarm

  constructor(parts: SetAsideParts) {
    this.parts = parts
    this.alarm = new Alarm(parts.platform, () => this.tryAgain())
  }

  /** How many messages are set aside. */
  get count(): number {
    let count = 0
    for (const { mail } of this.entries.values()) count += mail.length
    return count
  }

  /** If an earlier message from its sender is set aside, keeps this one too: true, and it must not be stepped. */
  takesBehind({ key }: Actor, mail: Mail): boolean {
    if (this.entries.size === 0) return false
    const entry = this.entries.get(key)
    if (entry === undefined || !entry.mail.some((one) => isBefore(one, mail))) return false
    entry.mail.push(mail)
    return true
  }

  /** The step threw, or the journal rejected it. Returns the answer to an outside sender; other messages are kept. */
  failed({ ref, key }: Actor, mail: Mail, error: unknown): Answer | undefined {
    const { log, platform } = this.parts
    const of = { actor: key, message: mail.body.type, source: mail.source, err: error }
    if (mail.source.from === 'outside') {
      log.error(of, 'a step failed')
      const detail = `The step ${mail.body.type} failed; nothing was changed.`
      return { ok: false, refusal: { code: 'internal_error', detail } }
    }
    const entry = this.entries.get(key) ?? { ref, mail: [], failures: 0, dueMs: Number.POSITIVE_INFINITY }
    this.entries.set(key, entry)
    const behind = entry.mail.findIndex((one) => isBefore(mail, one))
    entry.mail.splice(behind < 0 ? entry.mail.length : behind, 0, mail)
    entry.failures++
    const waitMs = pauseMs(entry.failures, setAsideRetryMsMax)
    entry.dueMs = platform.monotonicMs() + waitMs
    log.error({ ...of, failures: entry.failures, retry_in_ms: waitMs }, 'a step failed: its message is set aside')
    this.alarm.set(waitMs)
    return undefined
  }

  /** The actors took these messages and the steps are stored, or the messages turned out to be superseded. */
  passed({ settled, late }: Pick<Batch, 'settled' | 'late'>): void {
    if (this.entries.size === 0) return
    for (const { actor } of [...settled, ...late])
      if (this.entries.get(actor.key)?.mail.length === 0) this.entries.delete(actor.key)
  }

  stop(): void {
    this.alarm.clear()
  }

  private tryAgain(): void {
    const nowMs = this.parts.platform.monotonicMs()
    let nextMs = Number.POSITIVE_INFINITY
    for (const entry of this.entries.values()) {
      if (entry.dueMs <= nowMs) {
        const { mail } = entry
        entry.mail = []
        entry.dueMs = Number.POSITIVE_INFINITY
        this.parts.tryAgain(this.parts.actors.get(entry.ref), mail)
      } else nextMs = Math.min(nextMs, entry.dueMs)
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.alarm.set(nextMs - nowMs)
  }
}

/** True if `a` and `b` come from one sender, which sent `a` first. */
function isBefore({ source: a }: Mail, { source: b }: Mail): boolean {
  if (a.from !== 'outbox' || b.from !== 'outbox') return false
  return a.row.kind === b.row.kind && a.row.id === b.row.id && a.row.n < b.row.n
}
