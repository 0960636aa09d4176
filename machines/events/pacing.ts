/** Pacing (SPEC 6.10): which lanes start nothing. Stated for the project `system`, after the state is saved. */
import { openObject, Type } from '../schema.ts'
import { serviceEvent } from './event-type.ts'
import { lane } from './work-item.ts'

const payload = openObject({
  lanes: Type.Array(lane, { description: 'lanes named by the request, in lane order' }),
  paused: Type.Array(lane, { description: 'every paused lane after the change, in lane order' }),
  operator_origin: Type.String({ description: "the command-line tool's hostname and its --origin text" }),
})

export const pacingEvents = {
  pacing_paused: serviceEvent('6.10', 'an operator paused one or more lanes; nothing in them starts', payload),
  pacing_resumed: serviceEvent('6.10', 'an operator resumed one or more lanes', payload),
}
