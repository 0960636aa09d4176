import t from 'tap'
import { interestOf, OF_MEANING, OF_SENTINELS, OF_WORK } from '../../console/interest.ts'
import { eventTypes, isServiceOwned } from '../../machines/events/index.ts'

/** As long as one becomes: an epoch, a sequence number of ten digits, an incarnation. */
const CURSOR = `${'0'.repeat(12)}.${'z'.repeat(10)}.${'0'.repeat(6)}`

/** They change no document that the console shows. */
const OF_NONE = [
  'token_created',
  'token_revoked',
  'trace_ingested',
  'engine_capabilities_recorded',
  'engine_capabilities_removed',
]

t.test(
  'every type that the service states is told to the pages that it changes, and no type is one that is not',
  (t) => {
    const placed = [...new Set([...OF_WORK, ...OF_MEANING, ...OF_SENTINELS, ...OF_NONE])]
    t.strictSame(placed.filter(isServiceOwned).sort(), eventTypes.filter(isServiceOwned).sort())
    t.strictSame(
      placed.filter((type) => !(eventTypes as readonly string[]).includes(type)),
      [],
    )
    t.end()
  },
)

t.test('no page is told what agents print, and each filter is as short as docs/LIMITS.md asks', (t) => {
  for (const page of ['', 'items', 'runs', 'projects', 'intent', 'sentinels', 'events', 'traces', 'nowhere']) {
    const { event_type: types = '' } = interestOf(page)
    t.notMatch(types, /run_output/)
    t.match(types, /^project_created,project_updated/, 'the frame names the projects')
    const path = `/api/watch?event_type=${types}&since=${CURSOR}`
    t.ok(path.length < 1_200, `${page}: ${path.length}`)
  }
  t.end()
})
