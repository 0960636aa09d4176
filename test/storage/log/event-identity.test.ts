import t from 'tap'
import { eventText, prepareEvent } from '../../../machines/events/envelope.ts'
import { identityOf, identityOfEvent } from '../../../storage/log/event-identity.ts'

const AT = '2026-01-01T00:00:00.000000Z'
const RECORDED = '2026-01-02T03:04:05.678901Z'
/** Texts that would mislead a parser that cuts at the wrong place. */
const LURES = [
  'plain',
  ',"id":"evt_lure"',
  '"},"id":"evt_lure"',
  '","project":"lure","recorded_at":"1999-01-01T00:00:00Z","trace_id":"lure"',
  'a \\ backslash',
  'item_id":',
  'Ünïcödé ✓ \u2028',
]

t.test('the identity cut out of an event equals the parsed one, whatever its texts hold', async (t) => {
  for (const lure of LURES)
    for (const by of [undefined, { id: lure, name: lure }, { id: 'tok_1', name: 'n', origin: lure }])
      for (const payload of [
        {},
        { id: 'evt_lure', project: lure, nested: { id: lure, trace_id: lure, recorded_at: lure } },
        { item_id: lure },
        { work_item_id: lure, item_id: 'wi_1' },
        { nested: { item_id: lure } },
      ])
        for (const trace_id of [undefined, 'trace', lure]) {
          const fields = { event_type: 'greeted', project: lure, occurred_at: AT, throttle: 'full', payload } as const
          const event = prepareEvent({ ...fields, trace_id, causation_id: lure, gather_id: lure, span_id: lure })
          const text = eventText(event, { recorded_at: RECORDED, by, run_request_id: lure })
          t.same(identityOfEvent(text), identityOf(text))
        }
})

t.test('a text that is not shaped like an event of the log is parsed, and refused if invalid', async (t) => {
  t.throws(() => identityOfEvent('{"id":'), SyntaxError)
  t.equal(identityOfEvent('{"project":"demo","id":"evt_1"}').id, 'evt_1')
})
