/**
 * Each step of an actor follows the one before it; a message from one actor to another is sent once and consumed by
 * exactly one step; a timer that is set is cleared, and none is missing that an actor needs. At rest no message or timer is left over, and storage has what the
 * steps made.
 */
import { modules } from '../../../machines/index.ts'
import type { OutboxKey, Step } from '../../../storage/journal.ts'
import { Violation } from '../violation.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'steps follow each other without a gap'

interface ActorModel {
  version: number
  /** Number of its last message, or of the last one of the lives before it. */
  sent: number
  hasSent: boolean
}

const nameOfMessage = ({ kind, id, n }: OutboxKey): string => `${kind}/${id}/${n}`

export const stepsStandUponEachOther: MakeInvariant = (world) => {
  const actors = new Map<string, ActorModel>()
  /** Messages sent and not yet the business of a step. */
  const underWay = new Map<string, string>()
  /** Timers that are set, by actor and name: when they are due. */
  const timers = new Map<string, number>()

  const takeStep = (step: Step): void => {
    const name = `${step.kind}/${step.id}`
    let actor = actors.get(name)
    if (actor === undefined || (step.version === 1 && world.plan.isRetaining)) {
      actor = { version: 0, sent: actor?.sent ?? 0, hasSent: false }
      actors.set(name, actor)
    }
    if (step.version !== actor.version + 1) {
      throw new Violation(NAME, `${name} made step ${step.version} upon step ${actor.version}`)
    }
    actor.version = step.version
    if (step.consumed !== undefined && !underWay.delete(nameOfMessage(step.consumed))) {
      throw new Violation(NAME, `${name} took the message ${nameOfMessage(step.consumed)}, which is not under way`)
    }
    for (const { n, toKind, toId } of step.outbox) {
      const isNext = actor.hasSent ? n === actor.sent + 1 : n > actor.sent
      if (!isNext) throw new Violation(NAME, `${name} sent message ${n} after message ${actor.sent}`)
      actor.sent = n
      actor.hasSent = true
      underWay.set(nameOfMessage({ kind: step.kind, id: step.id, n }), `${toKind}/${toId}`)
    }
    for (const timer of step.timersCleared) {
      if (timers.get(`${name} ${timer.name}`) === timer.dueMs) timers.delete(`${name} ${timer.name}`)
    }
    for (const timer of step.timersSet) timers.set(`${name} ${timer.name}`, timer.dueMs)
  }

  return {
    name: NAME,
    steps(steps) {
      for (const step of steps) takeStep(step)
    },
    committed(steps) {
      // An actor may take several steps in one batch, and `timers` is as the last one left it.
      const last = new Map(steps.map(({ ref, after }) => [`${ref.kind}/${ref.id}`, { kind: ref.kind, after }]))
      for (const [name, { kind, after }] of last) {
        for (const timer of modules[kind].timers?.(after) ?? []) {
          if (!timers.has(`${name} ${timer}`)) throw new Violation(NAME, `${name} waits without its timer ${timer}`)
        }
      }
    },
    owed() {
      for (const [message, to] of underWay) return `the message ${message} has not reached ${to}`
      return undefined
    },
    finally(process) {
      const { journal } = process
      for (const row of journal!.outbox()) throw new Violation(NAME, `the outbox still holds ${JSON.stringify(row)}`)
      const rows = journal!.timers(0, Number.MAX_SAFE_INTEGER, Number.POSITIVE_INFINITY)
      const stored = rows.map(({ dueMs, kind, id, name }) => `${dueMs} ${kind}/${id} ${name}`).sort()
      const expected = Array.from(timers, ([timer, dueMs]) => `${dueMs} ${timer}`).sort()
      if (stored.join('\n') !== expected.join('\n')) {
        throw new Violation(NAME, `storage holds the timers ${stored}; the steps made ${expected}`)
      }
    },
  }
}
