/**
 * Pacing's documents: which lanes to pause or resume, which labels to limit, which project to weigh, and the view of
 * what runs and what waits.
 */
import { LANES } from '../run-request/lanes.ts'
import { type Static, stringEnum, Type } from '../schema.ts'
import { by, CLOSED, LIST_MAX, label, projectKey, time } from './fields.ts'
import { itemWaitingBecause, WORK_ITEM_STATES } from './work-item.ts'

/** Most labels that are limited at the same time. */
export const LABEL_LIMITS_MAX = LIST_MAX
/** Largest limit of a label: more runs than any fleet has under way. */
export const LABEL_LIMIT_MAX = 1_000_000
/** Most projects that have a weight other than 1 at the same time. */
export const WEIGHTS_MAX = LIST_MAX
/** Largest weight of a project. */
export const WEIGHT_MAX = 100

const lane = stringEnum(LANES, { description: 'The lane.' })

/** Body of pause and of resume. */
export const pacingBody = Type.Object(
  {
    lanes: Type.Optional(
      Type.Array(lane, {
        uniqueItems: true,
        maxItems: LANES.length,
        description: 'Default, or if empty: all lanes.',
      }),
    ),
  },
  { ...CLOSED, title: 'PacingChange' },
)
export type PacingBody = Static<typeof pacingBody>

const limitedLabel = label('The label, as run requests and work items require it of their runner.')
const maxRunning = Type.Integer({
  minimum: 0,
  maximum: LABEL_LIMIT_MAX,
  description: 'How many runs that require the label may be under way at the same time; 0: none starts.',
})

export const labelLimitBody = Type.Object(
  { label: limitedLabel, max_running: maxRunning },
  { ...CLOSED, title: 'LabelLimitChange' },
)
export type LabelLimitBody = Static<typeof labelLimitBody>

export const labelUnlimitBody = Type.Object({ label: limitedLabel }, { ...CLOSED, title: 'LabelUnlimit' })
export type LabelUnlimitBody = Static<typeof labelUnlimitBody>

const weighedProject = projectKey('Key of the project.')
const weight = Type.Integer({
  minimum: 1,
  maximum: WEIGHT_MAX,
  description: 'How many turns the project gets while one of weight 1 gets one; 1, the default: an equal share.',
})

export const weighBody = Type.Object({ project: weighedProject, weight }, { ...CLOSED, title: 'ProjectWeightChange' })
export type WeighBody = Static<typeof weighBody>

const pacedItem = Type.Object(
  {
    id: Type.String({ description: 'The item.' }),
    project: Type.String({ description: 'Key of the project.' }),
    objective: Type.String({ description: 'What is to be done.' }),
    lane,
    repository: Type.Optional(Type.String({ description: 'The repository it needs exclusively; absent: none.' })),
    state: stringEnum(WORK_ITEM_STATES, { description: 'Its state.' }),
    reason: Type.String({ description: 'One line: why it is in that state.' }),
    waiting_because: Type.Optional(itemWaitingBecause),
    since: time('When it entered that state.'),
  },
  { title: 'PacedItem' },
)

export const pacingDocument = Type.Object(
  {
    max_running: Type.Integer({ description: 'Maximum number of items running or handed out at the same time.' }),
    running_count: Type.Integer({ description: 'Number of items running or handed out.' }),
    waiting_count: Type.Integer({ description: 'Number of items waiting, including held ones.' }),
    paused: Type.Array(lane, { description: 'Paused lanes, in lane order.' }),
    unreadable: Type.Optional(
      Type.Boolean({ description: 'true: the pause state cannot be read, so every lane counts as paused.' }),
    ),
    lanes: Type.Array(
      Type.Object({
        lane,
        paused: Type.Boolean({ description: 'While true, nothing in the lane starts.' }),
        since: Type.Optional(time('Since when it is paused.')),
        origin: Type.Optional(Type.String({ description: 'Where the pause was requested from.' })),
        by: Type.Optional(by),
      }),
    ),
    label_limits: Type.Array(
      Type.Object({
        label: limitedLabel,
        max_running: maxRunning,
        under_way: Type.Integer({
          description:
            'Number of runs that require it and that runners have, or may have (offered, accepted, started, cancelling or lost), and of items handed out with it, in all projects.',
        }),
        since: time('When the limit was set.'),
        origin: Type.String({ description: 'Where that was requested from.' }),
        by: Type.Optional(by),
      }),
      { description: 'Limited labels, sorted.' },
    ),
    weights: Type.Array(
      Type.Object({
        project: weighedProject,
        weight,
        since: time('When the weight was set.'),
        origin: Type.String({ description: 'Where that was requested from.' }),
        by: Type.Optional(by),
      }),
      { description: 'Projects that have a weight other than 1, sorted; those that the token may see.' },
    ),
    running: Type.Array(pacedItem, { description: 'Running items, oldest start first, then handed-out items.' }),
    waiting: Type.Array(pacedItem, {
      description:
        'Waiting items, interactive ones first, then by age, as they start unless a project has a weight; then held ones; a bounded number.',
    }),
  },
  { title: 'Pacing' },
)
export type Pacing = Static<typeof pacingDocument>
