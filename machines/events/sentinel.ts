/** Sentinels: named cron triggers, stated for their project. */
import { SENTINEL_STATES, SKIP_CODES } from '../documents/sentinel.ts'
import { openObject, stringEnum, Type } from '../schema.ts'
import { serviceEvent } from './event-type.ts'

const sentinel = Type.String({ description: 'name of the sentinel' })
const said = (description: string) => Type.Optional(Type.String({ description }))
const moment = (description: string) => Type.Optional(Type.String({ format: 'date-time', description }))
const next_at = moment('when it falls due next')
const about = {
  sentinel,
  state: stringEnum(SENTINEL_STATES),
  cron: said('minute, hour, day of the month, month, day of the week'),
  time_zone: said('IANA time zone'),
  next_at,
}
const occasion = { due_at: moment('the time at which it fell due; absent if it was fired by hand'), next_at }
const updated = openObject({
  ...about,
  changed: Type.Optional(
    Type.Array(Type.String(), {
      description: 'names of the members that changed; `next_at` alone: the service found that it falls due sooner',
    }),
  ),
})
const fired = openObject({ sentinel, ...occasion, item_id: said('the item that it submitted') })
const skipped = openObject({
  sentinel,
  ...occasion,
  skipped: Type.Optional(stringEnum(SKIP_CODES, { description: 'why it submitted nothing' })),
  item_id: said('the unsettled item that asks for the same'),
})

export const sentinelEvents = {
  sentinel_added: serviceEvent('own', 'a sentinel was added', openObject(about)),
  sentinel_updated: serviceEvent(
    'own',
    'a sentinel was changed, paused or resumed, or falls due sooner than it had said',
    updated,
  ),
  sentinel_removed: serviceEvent('own', 'a sentinel was removed', openObject(about)),
  sentinel_fired: serviceEvent('own', 'a sentinel submitted its work item', fired),
  sentinel_skipped: serviceEvent('own', 'a sentinel fell due, or was fired, and submitted nothing', skipped),
}
