/** What keeps a sentinel from submitting its item now, as only the running service knows it. */

import type { ActorRef, MessageBody } from '../../machines/machine.ts'
import type { SentinelContext, WhyNot } from '../../machines/sentinel/context.ts'
import type { Runtime } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Scheduler } from './api.ts'
import { twinKeyOf } from './ledger.ts'

type Ledger = Pick<Scheduler, 'announce' | 'twinOf'>

/** Either why it submits nothing, or what to call if the item that was announced for it does not come after all. */
type Leave = { readonly whyNot: WhyNot } | { readonly withdraw: () => void }

/**
 * A sentinel submits nothing that is asked for already, or that its project does not take. If it may submit its item,
 * that counts from now on, so that two that fall due together do not both submit the same.
 */
export function leaveToSubmit(
  runtime: Pick<Runtime, 'read'>,
  ledger: Ledger,
  { project_id, item }: Pick<SentinelContext, 'project_id' | 'item'>,
): Leave {
  const project = committed(runtime, { kind: 'project', id: project_id })
  if (project?.value === 'archived') return { whyNot: { code: 'project_archived' } }
  const twinKey = twinKeyOf(project_id, { kind: 'task', ...item })
  const item_id = ledger.twinOf(twinKey)
  if (item_id !== undefined) return { whyNot: { code: 'duplicate', item_id } }
  const withdraw = ledger.announce(twinKey)
  return withdraw === undefined ? { whyNot: { code: 'duplicate' } } : { withdraw }
}

/** The hook that adds it to the message of a sentinel that falls due. */
export function heldBack(
  runtime: Pick<Runtime, 'read'>,
  ledger: Ledger,
  guarded: <T>(ref: ActorRef, act: () => T) => T | undefined,
): (ref: ActorRef, message: MessageBody) => MessageBody {
  return (ref, message) => {
    if (ref.kind !== 'sentinel') return message
    // Nothing is withdrawn: what has fallen due is kept until its step has been taken.
    const leave = guarded(ref, () => {
      const sentinel = committed(runtime, { kind: 'sentinel', id: ref.id })
      return sentinel === undefined ? undefined : leaveToSubmit(runtime, ledger, sentinel.context)
    })
    return leave === undefined || 'withdraw' in leave ? message : ({ ...message, why_not: leave.whyNot } as MessageBody)
  }
}
