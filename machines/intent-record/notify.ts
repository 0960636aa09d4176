/** What an intent record tells other actors: the hypothesis that wants its slug, and the records it conflicts with. */
import { enqueueActions, setup } from 'xstate'
import { declaredActions, type Fact, type SendParams } from '../machine.ts'
import { recordKey } from '../record-key.ts'
import type { IntentRecordBody, IntentRecordContext, IntentRecordMessage, Of, Relationship } from './context.ts'
import { driftChanged } from './facts.ts'

type Context = IntentRecordContext

/** A message to another record. */
const toRecord = (id: string, message: IntentRecordBody): SendParams => ({
  to: { kind: 'intent_record', id },
  message,
})

export function relationshipOf(
  { relationships }: Context,
  { relationship_id }: Of<'unrelate'>,
): Relationship | undefined {
  return relationships.find(({ id }) => id === relationship_id)
}

/** A record has a drift status only while it guides runs. */
export function hasDrift({ drift }: Context): boolean {
  return drift.status !== undefined
}

/** What the other side of a conflict needs to know about this record. */
function asPeer(context: Context) {
  const { id, project, slug } = context
  return { type: 'peer_conflict', with: id, key: recordKey(project, slug), guiding: hasDrift(context) } as const
}

export const notifications = setup({
  types: { context: {} as Context, events: {} as IntentRecordMessage, emitted: {} as Fact },
  actions: {
    ...declaredActions,
    /** These run after the change: they report what this step added to the history. */
    emitDriftAccepted: enqueueActions(({ context, event, enqueue }) => {
      for (const fact of driftChanged(context, event.at, 'accepted')) enqueue.emit(fact)
    }),
    emitDriftActive: enqueueActions(({ context, event, enqueue }) => {
      for (const fact of driftChanged(context, event.at, 'active')) enqueue.emit(fact)
    }),

    sayTaken: enqueueActions(({ context, event, enqueue }) => {
      const { hypothesis_id: id } = event as Of<'make'>
      const message = { type: 'slug_taken', slug: context.slug } as const
      enqueue({ type: 'send', params: { to: { kind: 'hypothesis', id }, message } })
    }),
    tellReplacement: enqueueActions(({ context, event, enqueue }) => {
      const { replacement, by } = event as Of<'supersede'>
      if (replacement === undefined) return
      const message = { type: 'take_place', of: context.id, ...(by === undefined ? {} : { by }) } as const
      enqueue({ type: 'send', params: toRecord(replacement, message) })
    }),
    /** Tells the other side of a declared conflict about it, and whether this record guides runs. */
    declareConflict: enqueueActions(({ context, event, enqueue }) => {
      const { relation, to } = event as Of<'relate'>
      if (relation !== 'conflicts_with') return
      const message = { ...asPeer(context), said: 'declared' } as const
      enqueue({ type: 'send', params: toRecord(to, message) })
    }),
    /** Runs before the relationship is removed. */
    withdrawConflict: enqueueActions(({ context, event, enqueue }) => {
      const gone = relationshipOf(context, event as Of<'unrelate'>)!
      const isStatedTwice = context.relationships.some(
        (one) => one !== gone && one.type === 'conflicts_with' && one.to === gone.to,
      )
      if (gone.type !== 'conflicts_with' || isStatedTwice) return
      const message = { ...asPeer(context), said: 'withdrawn' } as const
      enqueue({ type: 'send', params: toRecord(gone.to, message) })
    }),
    answerPeer: enqueueActions(({ context, event, enqueue }) => {
      const { with: peer, said } = event as Of<'peer_conflict'>
      if (said !== 'declared') return
      enqueue({
        type: 'send',
        params: toRecord(peer, asPeer(context)),
      })
    }),
    /** Tells every record in conflict with this one that it has begun or ceased to guide runs. */
    tellPeers: enqueueActions(({ context, enqueue }) => {
      for (const peer of Object.keys(context.drift.conflicts)) {
        enqueue({
          type: 'send',
          params: toRecord(peer, asPeer(context)),
        })
      }
    }),
  },
})
