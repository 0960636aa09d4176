/** What keeps a sentinel from submitting its item now, as only the running service knows it. */

import type { ActorRef, MessageBody } from '../../machines/machine.ts'
import type { SentinelContext, WhyNot } from '../../machines/sentinel.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Scheduler } from './api.ts'
import { twinKeyOf } from './ledger.ts'

type Ledger = Pick<Scheduler, 'announce' | 'twinOf'>

/**
 * A sentinel submits nothing that is asked for already, or that its project does not take. Undefined: it may, and its
 * item counts from now on, so that two that fall due together do not both submit the same.
 */
export function whyNot(
  runtime: Pick<Runtime, 'read'>,
  ledger: Ledger,
  { project_id, item }: Pick<SentinelContext, 'project_id' | 'item'>,
): WhyNot | undefined {
  if (committed(runtime, { kind: 'project', id: project_id })?.value === 'archived') return { code: 'project_archived' }
  const twinKey = twinKeyOf(project_id, { kind: 'task', ...item })
  const item_id = ledger.twinOf(twinKey)
  if (item_id !== undefined) return { code: 'duplicate', item_id }
  return ledger.announce(twinKey) ? undefined : { code: 'duplicate' }
}

/** The hook that adds it to the message of a sentinel that falls due. */
export function heldBack(
  runtime: Pick<Runtime, 'read'>,
  ledger: Ledger,
  guarded: <T>(ref: ActorRef, act: () => T) => T | undefined,
): (ref: ActorRef, message: MessageBody) => MessageBody {
  return (ref, message) => {
    if (ref.kind !== 'sentinel') return message
    const why_not = guarded(ref, () => {
      const sentinel = committed(runtime, { kind: 'sentinel', id: ref.id })
      return sentinel === undefined ? undefined : whyNot(runtime, ledger, sentinel.context)
    })
    return why_not === undefined ? message : ({ ...message, why_not } as MessageBody)
  }
}
