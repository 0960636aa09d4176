import fc from 'fast-check'
import t from 'tap'
import type { ListRow } from '../../../runtime/api.ts'
import { newestFirst } from '../../../runtime/collections/newest.ts'
import { Ledger } from '../../../runtime/scheduler/ledger.ts'
import { strandedItems, strandedScanMax } from '../../../runtime/scheduler/stranded.ts'

interface Given {
  readonly project: string
  readonly lane: string
  readonly at: number
  readonly waits: boolean
}

/** A ledger in which all of these are queued. */
function ledgerOf(given: readonly Given[]): {
  ledger: Ledger
  waits: Set<string>
  rows: (isMeant: RegExp) => ListRow[]
} {
  const ledger = new Ledger(() => undefined)
  const made = given.map((one, n) => ({ ...one, id: `wi_${n}`, order: new Date(1.7e12 + one.at).toISOString() }))
  for (const { id, project, lane, order } of made) {
    const asked = { objective: id, kind: 'task', lane, source: { kind: 'operator', ref: 'ann' } }
    const more = { depends_on: [], operator_actions: [], internal: {} }
    ledger.note({
      value: 'queued',
      context: { id, project, project_id: project, submitted_at: order, asked, ...more },
    } as never)
  }
  const rows = (isMeant: RegExp): ListRow[] =>
    made.filter(({ waits, project }) => waits && isMeant.test(project)).map(({ order, id }) => ({ order, id }))
  return { ledger, waits: new Set(made.flatMap(({ id, waits }) => (waits ? [id] : []))), rows }
}

const given = fc.record({
  project: fc.constantFrom('seen', 'hidden', 'served'),
  lane: fc.constantFrom('interactive', 'campaign'),
  at: fc.nat(5),
  waits: fc.boolean(),
})

t.test('consecutive pages give all visible stranded items, newest first, and the last page has no next', (t) => {
  fc.assert(
    fc.property(fc.array(given, { maxLength: 30 }), fc.integer({ min: 1, max: 8 }), (all, limit) => {
      const { ledger, waits, rows } = ledgerOf(all)
      const find = strandedItems(ledger.queued, ({ project }) => project !== 'hidden', {
        isLineStranded: ({ project }) => project !== 'served',
        waitsForRunnerAlone: ({ id }) => waits.has(id),
      })
      const read: ListRow[] = []
      let after: ListRow | undefined
      do {
        const page = find(limit, after)
        t.ok(page.next === undefined || page.rows.length === limit)
        read.push(...page.rows)
        after = page.next
      } while (after !== undefined)
      t.same(read, rows(/seen/).sort(newestFirst))
    }),
    { numRuns: 300 },
  )
  t.end()
})

t.test('a page looks at a bounded number of items, and the next goes on behind them', (t) => {
  const some = { project: 'shop', lane: 'interactive' }
  const { ledger, waits } = ledgerOf(
    Array.from({ length: 2 * strandedScanMax }, (_, at) => ({
      ...some,
      at,
      waits: at === 0 || at === 2 * strandedScanMax - 1,
    })),
  )
  let looks = 0
  const find = strandedItems(ledger.queued, () => true, {
    isLineStranded: () => true,
    waitsForRunnerAlone: ({ id }) => {
      looks++
      return waits.has(id)
    },
  })
  const first = find(100, undefined)
  t.same([first.rows.length, looks], [1, strandedScanMax])
  const second = find(100, first.next)
  t.same([second.rows.map(({ id }) => id), looks, second.next], [['wi_0'], 2 * strandedScanMax, undefined])
  t.end()
})
