import fc from 'fast-check'
import t from 'tap'
import { usageDocument } from '../../machines/documents/usage.ts'
import { compile } from '../../machines/schema.ts'
import { measured } from '../../machines/usage/measure.ts'
import { usageModule as module, usageNews } from '../../machines/usage.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('usage')

const told = (usage?: unknown, cost?: unknown) => measured(usage, cost)
const M = {
  add: at(
    1,
    usageNews('add', 'item', 'wi_1', told({ a: { input: 3, output: 1 } }, { USD: 0.1, basis: 'list' })).message,
  ),
  'add (unmeasured)': at(2, usageNews('add', 'item', 'wi_1', told()).message),
  amend: at(3, usageNews('amend', 'item', 'wi_1', told({ b: { input: 1 } }, { USD: 0.2, EUR: 1 })).message),
}

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), kept: after(module, [M.add]) }, M), 'usage')
  t.end()
})

t.test('sums are exact, and say how many sessions they include', (t) => {
  const kept = after(module, [M.add, M['add (unmeasured)'], M['add (unmeasured)'], M.amend, M.add])
  t.strictSame(module.document(reopened(module, kept)), {
    scope: 'item',
    ref: 'wi_1',
    sessions: 4,
    measured: 3,
    priced: 3,
    tokens: { a: { input: 6, output: 2 }, b: { input: 1 } },
    cost: { USD: 0.4, EUR: 1 },
    cost_basis: { list: 2 },
    updated_at: M.add.at,
  })
  t.strictSame(compile(usageDocument)(module.document(kept)), [])
  t.end()
})

t.test('unmeasured usage is not shown as zero', (t) => {
  const kept = after(module, [M['add (unmeasured)']])
  const shown = module.document(kept)
  t.match(shown, { sessions: 1, measured: 0, priced: 0 })
  t.notOk('tokens' in shown || 'cost' in shown)
  t.end()
})

t.test('invalid counts and amounts count as not measured', (t) => {
  const wrong = [undefined, null, 0, 'x', [], {}, { a: {} }, { a: { input: -1 } }, { a: { input: 0.5 } }, { a: [1] }]
  for (const usage of wrong) t.notOk('tokens' in told(usage), JSON.stringify(usage))
  const unpriced = [
    {},
    { USD: -1 },
    { USD: '1' },
    { USD: 1e300 },
    { dollars: 1 },
    { USD: 1, basis: 'unmeasured' },
    { USD: Number.NaN },
  ]
  for (const cost of unpriced) t.notOk('micros' in told(undefined, cost), JSON.stringify(cost))
  t.strictSame(told({ input: 3 }).tokens, { unnamed: { input: 3 } }, 'counts without a model')
  t.strictSame(told({}, { usd: 0 }).micros, { USD: 0 }, 'a cost of zero is known')
  const spelled = { usd: 0.5, EUR: 1, USD: 0.25, Usd: 'none' }
  t.strictSame(told({}, spelled).micros, { USD: 750_000, EUR: 1_000_000 }, 'a currency is one, however it is spelled')
  t.end()
})

t.test('whatever an engine reports, the sum stays small and satisfies its schema', (t) => {
  const words = fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'a'))
  const counts = fc.oneof(fc.anything(), fc.dictionary(words, fc.oneof(fc.nat(), fc.anything())))
  const usage = fc.oneof(fc.anything(), fc.dictionary(words, counts, { maxKeys: 100 }))
  const check = compile(usageDocument)
  fc.assert(
    fc.property(fc.array(fc.tuple(usage, usage), { minLength: 1, maxLength: 20 }), (sessions) => {
      let snapshot = absent(module)
      for (const [use, cost] of sessions)
        snapshot = step(module, snapshot, at(1, usageNews('add', 'project', 'acme', told(use, cost)).message)).snapshot
      const document: any = JSON.parse(JSON.stringify(module.document(snapshot)))
      const faults = check(document)
      if (faults.length > 0) throw new Error(JSON.stringify(faults))
      return document.sessions === sessions.length && Object.keys(document.tokens ?? {}).length <= 65
    }),
    { numRuns: 200 },
  )
  t.end()
})
