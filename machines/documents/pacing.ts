/** Pacing's documents: which lanes to pause or resume, and the view of what runs and what waits. */
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, time } from './fields.ts'
import { LANES } from './run-request.ts'
import { itemWaitingBecause, WORK_ITEM_STATES } from './work-item.ts'

const lane = stringEnum(LANES, { description: 'The lane.' })

/** Body of pause and of resume. */
export const pacingBody = Type.Object(
  {
    lanes: Type.Optional(
      Type.Array(lane, {
        uniqueItems: true,
        maxItems: LANES.length,
        description: 'Default, and when empty: all lanes.',
      }),
    ),
  },
  { ...CLOSED, title: 'PacingChange' },
)
export type PacingBody = Static<typeof pacingBody>

const pacedItem = Type.Object(
  {
    id: Type.String({ description: 'The item.' }),
    project: Type.String({ description: 'Key of its project.' }),
    objective: Type.String({ description: 'What is to be done.' }),
    lane,
    repository: Type.Optional(Type.String({ description: 'What it needs for itself; absent: nothing.' })),
    state: stringEnum(WORK_ITEM_STATES, { description: 'Where it stands.' }),
    reason: Type.String({ description: 'One line: why it is in that state.' }),
    waiting_because: Type.Optional(itemWaitingBecause),
    since: time('When it came to that state.'),
  },
  { title: 'PacedItem' },
)

export const pacingDocument = Type.Object(
  {
    max_running: Type.Integer({ description: 'Most items that run or are handed out at one time.' }),
    running_count: Type.Integer({ description: 'How many do.' }),
    waiting_count: Type.Integer({ description: 'How many wait, held ones included.' }),
    paused: Type.Array(lane, { description: 'Paused lanes, in lane order.' }),
    unreadable: Type.Optional(
      Type.Boolean({ description: 'true: the pause state cannot be read, and so every lane counts as paused.' }),
    ),
    lanes: Type.Array(
      Type.Object({
        lane,
        paused: Type.Boolean({ description: 'Nothing in it starts.' }),
        since: Type.Optional(time('Since when.')),
        origin: Type.Optional(Type.String({ description: 'Where the pause was asked for.' })),
        by: Type.Optional(by),
      }),
    ),
    running: Type.Array(pacedItem, { description: 'Oldest start first; handed-out items behind them.' }),
    waiting: Type.Array(pacedItem, {
      description: 'In the order in which they start, then held ones; a bounded number.',
    }),
  },
  { title: 'Pacing' },
)
export type Pacing = Static<typeof pacingDocument>
