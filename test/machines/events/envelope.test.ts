/** The envelope: ids that depend on the fact alone, one canonical text, and what each entry point accepts. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { canonical, NotJson } from '../../../machines/canonical.ts'
import {
  type EventFields,
  emittedEventSchema,
  eventId,
  eventText,
  ingestedEventSchema,
  parseEventText,
  postedEventSchema,
  prepareEvent,
  recordedEventSchema,
} from '../../../machines/events/envelope.ts'
import { compile } from '../../../machines/schema.ts'

const fields = {
  event_type: 'task_run_completed',
  project: 'demo',
  occurred_at: '2026-01-31T12:00:00.123456Z',
  throttle: 'full',
  payload: { landed: true, nested: { b: 1, a: [1, 2] }, project: 'demo' },
  trace_id: '0123456789abcdef0123456789abcdef',
  span_id: '0123456789abcdef',
  parent_span_id: 'fedcba9876543210',
  causation_id: 'evt_00000000000000000000000000000000',
  gather_id: 'gth_1',
} satisfies EventFields

const recording = {
  recorded_at: '2026-01-31T12:00:00.123457Z',
  by: { id: 'tok_1', name: 'Anna "the boss" Müller' },
  run_request_id: 'runreq_1',
}

const others: { [K in keyof EventFields]-?: EventFields[K] } = {
  event_type: 'task_reviewed',
  project: 'other',
  occurred_at: '2026-01-31T12:00:00.123457Z',
  throttle: 'dry_run',
  payload: { ...fields.payload, landed: false },
  trace_id: null,
  span_id: null,
  parent_span_id: null,
  causation_id: null,
  gather_id: null,
}

/** Any JSON value, keys and texts with every kind of character. */
const json = fc.jsonValue({ stringUnit: 'binary' })
const payloads = fc.dictionary(fc.string({ unit: 'binary' }), json)

t.test('an id is evt_ and the first 32 hex digits of the hash of the canonical ten fields', async (t) => {
  const { event_type, project, occurred_at, throttle, trace_id, span_id } = fields
  const ten = [
    event_type,
    project,
    occurred_at,
    throttle,
    { landed: true, nested: { a: [1, 2], b: 1 }, project },
    trace_id,
    span_id,
    null,
    null,
    null,
  ]
  const digest = createHash('sha256').update(JSON.stringify(ten)).digest('hex')
  const event = { ...fields, parent_span_id: null, causation_id: undefined, gather_id: null }
  t.equal(eventId(event), `evt_${digest.slice(0, 32)}`)
  t.equal(eventId(event), prepareEvent(event).id)
})

t.test('an id changes with each of the ten fields', async (t) => {
  const ids = new Set([eventId(fields)])
  for (const [name, value] of Object.entries(others)) ids.add(eventId({ ...fields, [name]: value }))
  t.equal(ids.size, 11)
})

t.test('an id depends on nothing else: not on the order of keys, nor on members outside the fact', async (t) => {
  const reordered = { project: 'demo', nested: { a: [1, 2], b: 1 }, landed: true }
  t.equal(eventId({ ...fields, payload: reordered }), eventId(fields))
  t.equal(eventId({ ...fields, recorded_at: 'x', by: 'x', id: 'x' } as EventFields), eventId(fields))
  fc.assert(
    fc.property(payloads, (payload) => {
      const backwards = Object.fromEntries(Object.entries(payload).reverse())
      return eventId({ ...fields, payload }) === eventId({ ...fields, payload: backwards })
    }),
  )
})

t.test('fields cannot run into each other', async (t) => {
  t.not(
    eventId({ ...fields, event_type: 'a","b', project: 'c' }),
    eventId({ ...fields, event_type: 'a', project: 'b","c' }),
  )
  t.not(eventId({ ...fields, trace_id: 'null' }), eventId({ ...fields, trace_id: null }))
})

t.test('a given id is kept, since other engines hash differently', async (t) => {
  t.equal(prepareEvent(fields, 'evt_0123456789abcdef01234567').id, 'evt_0123456789abcdef01234567')
})

t.test('the text of an event is canonical, and gives the event back', async (t) => {
  const text = eventText(prepareEvent(fields), recording)
  t.equal(text, canonical(JSON.parse(text)))
  t.same(parseEventText(text), { ...fields, ...recording, id: eventId(fields) })
  t.strictSame(compile(recordedEventSchema)(parseEventText(text)), [])
  const bare = eventText(prepareEvent({ ...fields, ...nulls() }), { recorded_at: recording.recorded_at })
  t.equal(bare, canonical(JSON.parse(bare)))
  t.same(
    Object.keys(JSON.parse(bare)).sort(),
    'causation_id event_type gather_id id occurred_at parent_span_id payload project recorded_at span_id throttle trace_id'.split(
      ' ',
    ),
  )
})

t.test('the text of any event with any payload is canonical, and gives the event back', async () => {
  const name = fc.string({ unit: 'binary', minLength: 1 })
  fc.assert(
    fc.property(payloads, name, fc.option(name), fc.option(name), name, (payload, project, trace_id, gather_id, by) => {
      const event = prepareEvent({ ...fields, payload, project, trace_id, gather_id })
      const text = eventText(event, { ...recording, by: { id: 'tok_1', name: by } })
      const parsed = parseEventText(text)
      return text === canonical(parsed) && eventId(parsed as EventFields) === event.id
    }),
  )
})

t.test('a prepared event survives a message: it is plain JSON', async (t) => {
  const event = prepareEvent(fields)
  t.equal(eventText(JSON.parse(JSON.stringify(event)), recording), eventText(event, recording))
})

t.test('the time of an event is kept character for character', async (t) => {
  const occurred_at = '2026-01-31t14:00:00.1+02:00'
  t.equal(parseEventText(eventText(prepareEvent({ ...fields, occurred_at }), recording)).occurred_at, occurred_at)
})

t.test('a payload that JSON cannot carry is refused, with a pointer to it', async (t) => {
  for (const bad of [Number.NaN, 1n, undefined, '\ud800', new Date()]) {
    t.throws(() => prepareEvent({ ...fields, payload: { a: [bad] } }), { name: 'NotJson', pointer: '/a/0' })
  }
  t.throws(() => eventId({ ...fields, project: '\udfff' }), NotJson)
})

const posted = compile(postedEventSchema)
const emitted = compile(emittedEventSchema)
const ingested = compile(ingestedEventSchema)
const served = compile(recordedEventSchema)
const pointers = (faults: readonly { readonly pointer: string }[]) => faults.map(({ pointer }) => pointer).sort()

t.test('an event posted on a run needs a type, a time and a payload, and takes the rest from the run', async (t) => {
  const { event_type, occurred_at, payload } = fields
  t.strictSame(posted({ event_type, occurred_at, payload }), [])
  t.strictSame(posted({ ...fields, id: eventId(fields) }), [])
  t.strictSame(posted({ ...fields, ...nulls() }), [])
  t.strictSame(pointers(posted({})), ['/event_type', '/occurred_at', '/payload'])
})

t.test('an emitted event must name its project', async (t) => {
  t.strictSame(emitted(fields), [])
  t.strictSame(pointers(emitted({ ...fields, project: undefined })), ['/project'])
})

t.test('wrong values and members that a post may not give are refused', async (t) => {
  const wrong: Record<string, unknown[]> = {
    event_type: [null, '', 'Task', '1task', 'task run', 'x'.repeat(101)],
    occurred_at: [
      null,
      7,
      'now',
      '2026-01-31',
      '2026-13-31T12:00:00Z',
      '2026-01-31T12:00:00',
      '2026-01-31T12:00:00+02',
    ],
    payload: [null, [], 'x', 7],
    project: [null, '', 7, 'x'.repeat(129)],
    throttle: [null, 'FULL', 'audit', ''],
    trace_id: ['', 7, 'x'.repeat(129)],
    span_id: ['', {}],
    parent_span_id: [7],
    causation_id: [[]],
    gather_id: [true],
    id: [null, 'evt_', 'evt_XYZ', '0123', 'evt_0"'],
    recorded_at: [recording.recorded_at],
    by: [recording.by],
    run_request_id: ['runreq_1'],
    unknown: [1],
  }
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      for (const door of [posted, emitted]) {
        t.strictSame(pointers(door({ ...fields, [name]: value })), [`/${name}`], `${name} ${JSON.stringify(value)}`)
      }
    }
  }
  t.strictSame(
    pointers(posted(JSON.parse('{"event_type":"a","occurred_at":"2026-01-31T12:00:00Z","payload":{},"__proto__":{}}'))),
    ['/__proto__'],
  )
})

t.test('an event of another log keeps its id and may carry more than the envelope', async (t) => {
  const foreign = { ...fields, id: 'evt_0123456789abcdef01234567', schema: 2 }
  t.strictSame(ingested(foreign), [])
  t.strictSame(ingested({ ...foreign, recorded_at: recording.recorded_at }), [])
  t.strictSame(pointers(ingested(fields)), ['/id'])
  t.strictSame(pointers(ingested({ ...foreign, throttle: undefined })), ['/throttle'])
})

t.test('a served event has every field of the envelope, null where nothing is known', async (t) => {
  const event = { ...fields, ...nulls(), id: eventId(fields), recorded_at: recording.recorded_at }
  t.strictSame(served(event), [])
  for (const name of Object.keys(event)) {
    t.strictSame(pointers(served({ ...event, [name]: undefined })), [`/${name}`], name)
  }
  t.strictSame(pointers(served({ ...event, by: { id: 'x' } })), ['/by/name'])
})

function nulls() {
  return { trace_id: null, span_id: null, parent_span_id: null, causation_id: null, gather_id: null }
}
