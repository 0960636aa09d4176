/**
 * Pacing (SPEC 6.10): which lanes start nothing, how many runs with a label may be under way, and the weights of projects.
 * Stated for the project `system`, after the state is saved.
 */
import { openObject, Type } from '../schema.ts'
import { serviceEvent } from './event-type.ts'
import { lane } from './work-item.ts'

const operator_origin = Type.String({ description: "the command-line tool's hostname and its --origin text" })
const label = Type.String({ description: 'the label that runs require of their runner' })

const lanes = openObject({
  lanes: Type.Array(lane, { description: 'lanes named by the request, in lane order' }),
  paused: Type.Array(lane, { description: 'every paused lane after the change, in lane order' }),
  operator_origin,
})

export const pacingEvents = {
  pacing_paused: serviceEvent('6.10', 'an operator paused one or more lanes; nothing in them starts', lanes),
  pacing_resumed: serviceEvent('6.10', 'an operator resumed one or more lanes', lanes),
  pacing_label_limited: serviceEvent(
    'own',
    'an operator limited how many runs that require a label are under way at the same time',
    openObject({
      label,
      max_running: Type.Integer({ minimum: 0, description: 'how many may be; 0: none starts' }),
      operator_origin: Type.Optional(operator_origin),
    }),
  ),
  pacing_label_unlimited: serviceEvent(
    'own',
    'an operator ended the limit of a label, if it had one',
    openObject({ label, operator_origin: Type.Optional(operator_origin) }),
  ),
  pacing_project_weighed: serviceEvent(
    'own',
    'an operator gave a project its share of the turns among projects',
    openObject({
      project: Type.String({ description: 'key of the project' }),
      weight: Type.Integer({
        minimum: 1,
        description: 'turns that it gets while a project of weight 1 gets one; 1: an earlier weight is taken back',
      }),
      operator_origin: Type.Optional(operator_origin),
    }),
  ),
}
