/**
 * What was asked for under a name that the caller chose (an idempotency key, a trigger id): the same body again is a
 * repeat, another body under the same name is an error.
 */
import type { InitiativeContext, Of } from './context.ts'

/** How many bodies are remembered, the newest. The edge, too, remembers callers' keys as long as keys are kept. */
const BODIES_MAX = 256

type Bodied = Of<'advance' | 'decide' | 'record_owner_action' | 'record_finding'>

/** Anyone may choose a trigger id, so it is prefixed to keep it from colliding with the ids derived from keys. */
function keyOf(message: Bodied): string | undefined {
  switch (message.type) {
    case 'advance':
      return `advance ${message.trigger_id}`
    case 'decide':
      return message.decision_id
    case 'record_owner_action':
      return message.action_id
    case 'record_finding':
      return message.finding_id
  }
}

/** Whether the same body or another one came under that name before; undefined if none is remembered. */
export function bodyBefore({ internal }: InitiativeContext, message: Bodied): 'same' | 'other' | undefined {
  const key = keyOf(message)
  const before = key === undefined ? undefined : internal.bodies[key]
  if (before === undefined) return undefined
  return message.fingerprint === before ? 'same' : 'other'
}

export function withBody(context: InitiativeContext, message: Bodied): InitiativeContext {
  const key = keyOf(message)
  if (key === undefined || message.fingerprint === undefined) return context
  const { internal } = context
  const bodies = Object.fromEntries([...Object.entries(internal.bodies), [key, message.fingerprint]].slice(-BODIES_MAX))
  return { ...context, internal: { ...internal, bodies } }
}
