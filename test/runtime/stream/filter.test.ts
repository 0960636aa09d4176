/** Filters: fields, keys, and payload texts that look like other fields. */
import fc from 'fast-check'
import t from 'tap'
import { FILTER_FIELDS, Filter, type FilterTerms } from '../../../runtime/stream/filter.ts'
import { committedEvent, type EventDraft } from './fake-log.ts'

const base: EventDraft = { event_type: 'noted', project: 'a' }
const lets = (terms: FilterTerms, draft: Partial<EventDraft>, visible?: readonly string[]): boolean => {
  const filter = new Filter(terms, visible === undefined ? undefined : new Set(visible))
  const event = committedEvent(1, { ...base, ...draft })
  const [byFields, byText] = [filter.matches(event), filter.matchesText(event.text)]
  if (byFields !== byText) throw new Error(`fields say ${byFields}, the text says ${byText}: ${event.text}`)
  return byFields
}

t.test('each field is read from its place in the envelope or the payload, and from nowhere else', async (t) => {
  const inEnvelope = ['project', 'event_type', 'trace_id', 'run_request_id'] as const
  for (const field of inEnvelope) {
    t.ok(lets({ [field]: ['v'] }, { [field]: 'v' }), `${field} of the envelope`)
    t.notOk(lets({ [field]: ['v'] }, { payload: { [field]: 'v' } }), `not ${field} of the payload`)
  }
  for (const field of ['item_id', 'session_id', 'campaign', 'initiative', 'sentinel'] as const) {
    t.ok(lets({ [field]: ['v'] }, { payload: { [field]: 'v' } }), `${field} of the payload`)
    t.notOk(lets({ [field]: ['v'] }, { payload: { nested: { [field]: 'v' } } }), `not ${field} deeper in the payload`)
    t.notOk(lets({ [field]: ['v'] }, { payload: { [field]: ['v'] } }), `not ${field} that is no string`)
  }
  t.notOk(lets({ trace_id: ['null'] }, { trace_id: null }), 'an event without a trace matches no trace')
})

t.test('values of one field are alternatives, and all fields must match', async (t) => {
  t.ok(lets({ project: ['b', 'a'] }, {}))
  t.notOk(lets({ project: ['a'], event_type: ['landed'] }, {}))
  t.ok(lets({ project: ['a'], event_type: ['landed', 'noted'] }, {}))
  t.ok(lets({}, {}))
})

t.test('a confined reader sees its projects’ events and pacing, and no other system event', async (t) => {
  t.ok(lets({}, {}, ['a']))
  t.notOk(lets({}, { project: 'b' }, ['a']))
  t.ok(lets({}, { project: 'system', event_type: 'pacing_paused' }, ['a']))
  t.ok(lets({}, { project: 'system', event_type: 'pacing_resumed' }, []))
  t.notOk(lets({}, { project: 'system', event_type: 'token_created' }, ['a']))
  t.notOk(lets({}, { project: 'b', event_type: 'pacing_paused' }, ['a']), 'pacing of a project that it may not see')
  t.notOk(lets({ project: ['b'] }, { project: 'b' }, ['a']), 'naming the project does not help')
  t.notOk(
    lets({ project: ['a'] }, { project: 'system', event_type: 'pacing_paused' }, ['a']),
    'nor does it get what it did not ask for',
  )
})

t.test('matchesText scans an event text at most three times, however many values a field has', async (t) => {
  const values = Array.from({ length: 500 }, (_, n) => `none_${n}`)
  const { indexOf, includes } = String.prototype
  let passes = 0
  const counting = <Found>(search: (words: string, from?: number) => Found) =>
    function (this: string, ...asked: [string, number?]): Found {
      passes += 1
      return search.apply(this, asked)
    }
  t.teardown(() => Object.assign(String.prototype, { indexOf, includes }))
  for (const field of ['event_type', 'item_id'] as const) {
    const filter = new Filter({ [field]: values })
    const { text } = committedEvent(1, { ...base, payload: { item_id: 'other' } })
    passes = 0
    Object.assign(String.prototype, { indexOf: counting(indexOf), includes: counting(includes) })
    const isThrough = filter.matchesText(text)
    Object.assign(String.prototype, { indexOf, includes })
    t.equal(isThrough, false)
    t.ok(passes <= 3, `${passes} passes for ${field}`)
    t.ok(filter.matches(committedEvent(1, { event_type: 'none_499', project: 'a', payload: { item_id: 'none_0' } })))
  }
  t.ok(
    lets({ item_id: [...values, 'a"b\\\\', '\\'] }, { payload: { x: 'item_id', item_id: 'a"b\\\\' } }),
    'with escapes',
  )
  t.ok(lets({ item_id: ['\\', ''] }, { payload: { a: { item_id: 'c' }, item_id: '\\' } }))
  t.ok(lets({ item_id: ['\\', ''] }, { payload: { item_id: '' } }))
  t.notOk(lets({ item_id: ['\\'] }, { payload: { item_id: '\\"' } }))
})

/** Mostly the same few words, so that events and filters meet; now and then a nasty one. */
const word = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom('a', 'b') },
  {
    weight: 1,
    arbitrary: fc.constantFrom(
      '"',
      '\\',
      'x","project":"a',
      '"project":"a"',
      ',"project":"a"',
      ',"run_request_id":"a","trace_id":"b"}',
      '\u2028',
      'é',
      '\\u0061',
    ),
  },
  { weight: 1, arbitrary: fc.string() },
)
const key = fc.oneof(fc.constantFrom(...FILTER_FIELDS, 'payload', '0', '__proto__'), word)
const draft: fc.Arbitrary<EventDraft> = fc.record(
  {
    run_request_id: word,
    event_type: word,
    project: word,
    by: word,
    trace_id: fc.option(word, { nil: null }),
    payload: fc.dictionary(key, fc.oneof(word, fc.dictionary(key, word), fc.jsonValue()), { maxKeys: 6 }),
  },
  { requiredKeys: ['event_type', 'project', 'payload', 'trace_id', 'by'] },
) as fc.Arbitrary<EventDraft>
const terms: fc.Arbitrary<FilterTerms> = fc
  .subarray([...FILTER_FIELDS], { minLength: 1, maxLength: 2 })
  .chain((fields) =>
    fc.record(Object.fromEntries(fields.map((field) => [field, fc.uniqueArray(word, { minLength: 1, maxLength: 2 })]))),
  )

t.test('matchesText agrees with matches for any event, whatever the payload holds', async () => {
  fc.assert(
    fc.property(
      draft,
      terms,
      fc.option(fc.uniqueArray(word, { minLength: 1 }), { nil: undefined }),
      (event, wanted, visible) => {
        lets(wanted, event, visible)
      },
    ),
    { numRuns: 5_000 },
  )
})

t.test('equal filters have equal keys, and different filters have different ones', async (t) => {
  const key = (given: FilterTerms, visible?: readonly string[]): string =>
    new Filter(given, visible === undefined ? undefined : new Set(visible)).key
  t.equal(key({}), '')
  t.equal(key({ project: ['a', 'b'], campaign: ['c'] }), key({ campaign: ['c'], project: ['b', 'a', 'b'] }))
  t.equal(key({}, ['a', 'b']), key({}, ['b', 'a']))
  const others = [
    {},
    { project: ['a'] },
    { project: ['a', 'b'] },
    { project: ['a,b'] },
    { campaign: ['a'] },
    { project: ['a'], campaign: ['a'] },
  ]
  const keys = new Set([
    ...others.map((given) => key(given)),
    key({}, []),
    key({}, ['a']),
    key({ project: ['a'] }, ['a']),
  ])
  t.equal(keys.size, others.length + 3)
})

t.test('the pivot is the most selective of the given fields', async (t) => {
  t.equal(new Filter({ project: ['a'], trace_id: ['t'] }).pivot?.field, 'trace_id')
  t.equal(new Filter({ project: ['a'], event_type: ['x'] }).pivot?.field, 'event_type')
  t.equal(new Filter({}, new Set(['a'])).pivot, undefined)
})
