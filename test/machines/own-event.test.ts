import fc from 'fast-check'
import t from 'tap'
import { byText, eventText, prepareEvent } from '../../machines/events/envelope.ts'
import type { By, FactEnvelope } from '../../machines/machine.ts'
import { OwnEvents } from '../../machines/own-event.ts'

const envelope: FactEnvelope = {
  project: 'shop',
  throttle: 'full',
  trace_id: 'a'.repeat(32),
  span_id: 'b'.repeat(16),
  parent_span_id: null,
  causation_id: null,
  gather_id: null,
  run_request_id: 'runreq_1',
}
const occurredAt = '2026-01-31T14:00:00.000001Z'
const recordedAt = '2026-01-31T14:00:00.000002Z'

/** The same event, made as any other is. */
function plainly({ run_request_id, ...fields }: FactEnvelope, type: string, payload: object, by: By) {
  const event = prepareEvent({ ...fields, event_type: type, occurred_at: occurredAt, payload: payload as any })
  return { id: event.id, text: eventText(event, { recorded_at: recordedAt, by, run_request_id }) }
}

const text = fc.string({ unit: 'binary', minLength: 1 })
const orNull = fc.option(text)
const envelopes = fc.record({
  project: text,
  throttle: fc.constantFrom('full' as const, 'dry_run' as const),
  trace_id: orNull,
  span_id: orNull,
  parent_span_id: orNull,
  causation_id: orNull,
  gather_id: orNull,
})
const requests = fc.option(text, { nil: undefined })
const authors = fc.record({ id: fc.constantFrom('tok_1', 'tok_2'), name: text, origin: requests })
const payloads = fc.dictionary(text, fc.jsonValue())

t.test('an event stated by an actor has the id and text of any event with these fields', async () => {
  fc.assert(
    fc.property(envelopes, requests, authors, payloads, (fields, request, { id, name, origin }, payload) => {
      const given = request === undefined ? fields : { ...fields, run_request_id: request }
      const by = origin === undefined ? { id, name } : { id, name, origin }
      const own = new OwnEvents(given).event('run_request_created', payload, { occurredAt, recordedAt, by })
      const plain = plainly(given, 'run_request_created', payload, by)
      return own.id === plain.id && own.text === plain.text
    }),
  )
})

t.test('own events are not reused for an envelope in which any member differs', async (t) => {
  const own = new OwnEvents(envelope)
  t.ok(own.areOf({ ...envelope }))
  for (const name of Object.keys(envelope)) {
    t.notOk(own.areOf({ ...envelope, [name]: name === 'throttle' ? 'dry_run' : 'other' }), name)
  }
  const { run_request_id: _, ...without } = envelope
  t.notOk(own.areOf(without))
})

t.test('an actor is named exactly, even when its id was seen with another name before', async (t) => {
  t.equal(byText({ id: 'tok_3', name: 'ann' }), '{"id":"tok_3","name":"ann"}')
  t.equal(byText({ id: 'tok_3', name: 'bob' }), '{"id":"tok_3","name":"bob"}')
  t.equal(byText({ id: 'tok_3', name: 'bob', origin: 'bob@x' }), '{"id":"tok_3","name":"bob","origin":"bob@x"}')
  t.equal(byText({ id: 'tok_3', name: 'bob', origin: 'bob@y' }), '{"id":"tok_3","name":"bob","origin":"bob@y"}')
  t.equal(byText({ id: 'tok_3', name: 'bob' }), '{"id":"tok_3","name":"bob"}')
  for (let i = 0; i < 5_000; i += 1) byText({ id: `tok_${i}`, name: `${i}` })
  t.equal(byText({ id: 'tok_3', name: 'bob' }), '{"id":"tok_3","name":"bob"}')
})

t.test('a value that JSON cannot carry is refused, in the envelope and in the payload', async (t) => {
  t.throws(() => new OwnEvents({ ...envelope, project: '\udfff' }), { name: 'NotJson' })
  const by = { id: 'tok_4', name: 'ann' }
  const own = new OwnEvents(envelope)
  t.throws(() => own.event('x', { a: [Number.NaN] }, { occurredAt, recordedAt, by }), {
    name: 'NotJson',
    pointer: '/a/0',
  })
  t.throws(() => byText({ id: 'tok_5', name: '\ud800' }), { name: 'NotJson' })
})
