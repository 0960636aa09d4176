/** Greeting, the engine's own validation (SPEC 6.2): the shortest workflow there is. */
import { anyObject, openObject, Type } from '../schema.ts'
import { engineEvent } from './event-type.ts'

export const greetingEvents = {
  greet_requested: engineEvent(
    '6.2',
    'request to compose and deliver a greeting',
    openObject({ name: Type.String() }),
    { opensSpan: true, command: true },
  ),
  greeting_composed: engineEvent('6.2', 'greeting composed', openObject({ greeting: Type.String() })),
  greeting_delivered: engineEvent('6.2', 'greeting delivered (a side effect)', anyObject()),
}
