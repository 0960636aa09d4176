/** What a runner's events assert: what it may take, its state, whether it is online, and until when it is limited. */
import { members, type Testimony } from '../testimony.ts'
import { type RunnerContext, SETTABLE } from './context.ts'

const LIMIT_EVENTS: ReadonlySet<string> = new Set(['runner_limited', 'runner_limit_ended'])

/** Changes of credentials or of the session assert nothing about the terms. */
export const runnerTestimony: Testimony<RunnerContext> = {
  idMember: 'runner_id',
  types: new Set([
    'runner_registered',
    'runner_updated',
    'runner_removed',
    'runner_online',
    'runner_offline',
    'runner_limited',
    'runner_limit_ended',
  ]),
  aspects: ({ event_type, payload }) => {
    if (event_type === 'runner_registered') return ['creation', 'state', 'terms', 'limit']
    if (event_type === 'runner_updated') return payload.labels === undefined ? ['state'] : ['state', 'terms']
    if (event_type === 'runner_removed') return ['state', 'presence', 'limit']
    return LIMIT_EVENTS.has(event_type) ? ['state', 'limit'] : ['state', 'presence']
  },
  claims: (aspect, { payload }) => {
    if (aspect === 'state') return { state: payload.state }
    // Events of older versions do not name the rights of runs, which had none.
    if (aspect === 'terms') return { ...members(payload, ...SETTABLE), run_rights: payload.run_rights ?? [] }
    if (aspect === 'limit') return { limited_until: payload.limited?.until ?? null }
    return aspect === 'presence' ? { online: payload.presence === 'online' } : {}
  },
  held: ({ value, context }) => ({
    state: value,
    ...members(context, ...SETTABLE),
    online: context.internal.online,
    limited_until: context.limited?.until ?? null,
  }),
  madeAt: ({ created_at }) => created_at,
}
