/** Reading parts of an event's text without parsing it. */
import fc from 'fast-check'
import t from 'tap'
import { eventText, prepareEvent } from '../../../machines/events/envelope.ts'
import { idOfText } from '../../../machines/events/event-text.ts'

/** Texts that look like the member that is searched for. */
const tricky = fc.oneof(
  fc.string(),
  fc.constantFrom(',"id":"evt_0"', ',', '"', '\\', '\\"', '","id":"evt_1","', 'id', '"id":"evt_2"', '\n,"id":"'),
)
const orNull = fc.option(tricky)
const by = fc.record({ id: tricky, name: tricky, origin: tricky }, { requiredKeys: ['id', 'name'] })

t.test('the id read from an event’s text is the one that parsing gives, whatever surrounds it', async () => {
  const at = '2026-01-01T00:00:00Z'
  const property = fc.property(
    fc.record({ project: tricky, trace_id: orNull, causation_id: orNull, gather_id: orNull, span_id: orNull }),
    fc.dictionary(fc.oneof(tricky, fc.constant('id')), fc.oneof(tricky, fc.record({ id: tricky }))),
    fc.option(by, { nil: undefined }),
    (names, payload, by) => {
      const fields = { ...names, payload, event_type: 'noted', occurred_at: at, throttle: 'full' } as const
      const text = eventText(prepareEvent(fields), { recorded_at: at, by })
      const id = idOfText(text)
      if (id !== JSON.parse(text).id) throw new Error(`${id} is not the id of ${text}`)
    },
  )
  fc.assert(property, { numRuns: 2_000 })
})
