/** The sentinel's documents: a named cron trigger as served, and the bodies that add and change it. */
import { closedObject, type Static, stringEnum, Type } from '../schema.ts'
import { RECURRING_KINDS } from '../sentinel/kinds.ts'
import { by, CLOSED, name, SLUG_PATTERN, time } from './fields.ts'
import { itemId, OPEN_STATES, WORK_ITEM_STATES, workItemCreateBody } from './work-item.ts'

export const SENTINEL_STATES = ['active', 'paused', 'removed'] as const
export const SKIP_CODES = ['duplicate', 'missed', 'project_archived', 'unknown_time_zone'] as const

const PATTERN_LENGTH_MAX = 256
const ZONE_LENGTH_MAX = 64

const cron = Type.String({
  minLength: 1,
  maxLength: PATTERN_LENGTH_MAX,
  pattern: '^\\S+(?: +\\S+){4}$',
  description:
    'When it falls due: minute, hour, day of the month, month and day of the week, as in `30 2 * * 1-5` or `0 9 * * MON#1` (the first Monday of a month), in its time zone.',
})
const timeZone = Type.String({
  minLength: 1,
  maxLength: ZONE_LENGTH_MAX,
  description:
    'The name of the IANA time zone of its times, such as `Europe/Berlin`, kept as it is given; no offset such as `+02:00`. `UTC` by default.',
})

const { objective, lane, base_ref, context, labels, runner_id, timeout_seconds } = workItemCreateBody.properties
const item = closedObject(
  {
    objective,
    kind: Type.Optional(stringEnum(RECURRING_KINDS, { description: 'Default `task`.' })),
    lane,
    base_ref,
    context,
    labels,
    runner_id,
    timeout_seconds,
  },
  {
    title: 'SentinelItem',
    description: 'The work item that it submits each time; its members are those of a submitted item.',
  },
)

export const sentinelCreateBody = Type.Object(
  {
    name: Type.String({ pattern: SLUG_PATTERN, description: 'Its name; unique.' }),
    project: name('Key or id of the project.'),
    cron,
    time_zone: Type.Optional(timeZone),
    item,
  },
  { ...CLOSED, title: 'SentinelCreate' },
)
export type SentinelCreate = Static<typeof sentinelCreateBody>

export const sentinelPatchBody = Type.Object(
  {
    cron: Type.Optional(cron),
    time_zone: Type.Optional(timeZone),
    item: Type.Optional(item),
  },
  { ...CLOSED, minProperties: 1, title: 'SentinelPatch' },
)
export type SentinelPatch = Static<typeof sentinelPatchBody>

/** Body of pause, resume, fire and remove. */
export const sentinelMoveBody = Type.Object({}, { ...CLOSED, title: 'SentinelMove' })

const lastMembers = {
  due_at: Type.Optional(time('The time at which it fell due; absent if it was fired by hand.')),
  at: time('When it was handled.'),
  item_id: Type.Optional(
    itemId('The item that it submitted, or, with `duplicate`, the unsettled one unless that was only on its way.'),
  ),
  skipped: Type.Optional(
    stringEnum(SKIP_CODES, {
      description:
        'Why it submitted nothing: an unsettled item asks for the same; the service was not running at the time; its project is archived; the Node.js of the service does not know its time zone.',
    }),
  ),
}
const LAST = { description: 'The last time that it fell due or was fired.' }
const lastFiring = closedObject(lastMembers, LAST)
/** As it is recorded. */
export type LastFiring = Static<typeof lastFiring>
const last = closedObject(
  { ...lastMembers, item_state: Type.Optional(stringEnum(WORK_ITEM_STATES, { description: 'How that item is.' })) },
  LAST,
)
export type SkipCode = (typeof SKIP_CODES)[number]

const skipping = closedObject(
  {
    times: Type.Integer({ minimum: 1, description: 'How many times in a row.' }),
    since: time('When the first of these was handled.'),
  },
  {
    description:
      'How often in a row it has fallen due and submitted nothing since it was last changed or resumed; absent if it submitted something the last time. Times at which its project is archived do not count.',
  },
)
export type Skipping = Static<typeof skipping>

const failing = closedObject(
  {
    since: time('When the newest of these ended.'),
    items: Type.Array(
      closedObject({
        item_id: itemId('The item.'),
        state: stringEnum(OPEN_STATES, { description: 'How it is.' }),
        reason: Type.String({ description: 'One line: why.' }),
      }),
      { description: 'The last three, oldest first.' },
    ),
  },
  {
    description:
      'Its last items, apart from any that is under way, if they have all failed, or wait for a decision or to be resumed; only where one sentinel is read, and in `GET /api/attention`.',
  },
)
export type Failing = Static<typeof failing>

export const sentinelDocument = Type.Object(
  {
    name: Type.String({ description: 'Its name.' }),
    project: Type.String({ description: 'Key of the project.' }),
    state: stringEnum(SENTINEL_STATES, { description: 'Only an active one falls due.' }),
    cron,
    time_zone: timeZone,
    item,
    next_at: Type.Optional(
      time('When it falls due next; only of an active one, and not while its time zone is unknown to the service.'),
    ),
    last: Type.Optional(last),
    skipping: Type.Optional(skipping),
    failing: Type.Optional(failing),
    fired: Type.Integer({ minimum: 0, description: 'How many items it has submitted.' }),
    by: Type.Object(by.properties, {
      ...CLOSED,
      description: 'Who added it or has changed it last: the submitter of its items.',
    }),
    created_at: time('When it was added.'),
    updated_at: Type.Optional(time('When it was last changed.')),
  },
  { title: 'Sentinel' },
)
export type Sentinel = Static<typeof sentinelDocument>
