import t from 'tap'
import { LABEL_LIMITS_MAX, WEIGHTS_MAX } from '../../machines/documents/pacing.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { lanesOf, pacingModule as module } from '../../machines/pacing.ts'
import { differences, type StatedFact } from '../../machines/testimony.ts'
import { BY as ANN } from './run-request-samples.ts'
import { absent, after, at, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('pacing')

const BY = { ...ANN, origin: 'ann-laptop' }
const M = {
  'pause (campaign)': at(1, { type: 'pause', by: BY, lanes: ['campaign'] }),
  'pause (all)': at(2, {
    type: 'pause',
    by: BY,
    lanes: ['maintenance', 'interactive', 'campaign'],
  }),
  'resume (campaign)': at(3, { type: 'resume', by: BY, lanes: ['campaign'] }),
  'resume (all)': at(4, { type: 'resume', by: BY, lanes: ['interactive', 'campaign', 'maintenance'] }),
  'limit (gpu, 2)': at(5, { type: 'limit', by: BY, label: 'gpu', max_running: 2 }),
  'limit (ci, 0)': at(6, { type: 'limit', label: 'ci', max_running: 0 }),
  'unlimit (gpu)': at(7, { type: 'unlimit', by: BY, label: 'gpu' }),
  'weigh (shop, 3)': at(8, { type: 'weigh', by: BY, project: 'shop', weight: 3 }),
  'weigh (shop, 1)': at(9, { type: 'weigh', project: 'shop', weight: 1 }),
} as const

t.test('every message in every state has the outcome that the table shows', (t) => {
  const states = {
    absent: absent(module),
    open: after(module, [M['resume (all)']]),
    'paused (campaign)': after(module, [M['pause (campaign)']]),
    'paused (all)': after(module, [M['pause (all)']]),
    'paused (campaign), gpu limited': after(module, [M['limit (gpu, 2)'], M['pause (campaign)']]),
  }
  t.matchSnapshot(table(module, states, M), 'pacing')
  t.end()
})

t.test('payloads follow SPEC 6.10: lanes named and lanes paused, in lane order, even when nothing changed', (t) => {
  const first = step(module, absent(module), M['pause (campaign)'])
  t.strictSame((first.facts[0] as OwnFact).payload, {
    lanes: ['campaign'],
    operator_origin: 'ann-laptop',
    paused: ['campaign'],
  })
  const all = step(module, first.snapshot, M['pause (all)'])
  t.strictSame((all.facts[0] as OwnFact).payload, {
    lanes: ['interactive', 'campaign', 'maintenance'],
    operator_origin: 'ann-laptop',
    paused: ['interactive', 'campaign', 'maintenance'],
  })
  const again = step(module, all.snapshot, M['pause (all)'])
  t.equal(again.facts[0]!.type, 'pacing_paused')
  t.equal(all.snapshot.context.paused[1].at, M['pause (campaign)'].at, 'a paused lane keeps its pause')
  const resumed = step(module, all.snapshot, M['resume (campaign)'])
  t.strictSame((resumed.facts[0] as OwnFact).payload, {
    lanes: ['campaign'],
    operator_origin: 'ann-laptop',
    paused: ['interactive', 'maintenance'],
  })
  t.equal(module.envelope(resumed.snapshot.context).project, 'system')
  t.strictSame(lanesOf(resumed.snapshot.context)[1], { lane: 'campaign', paused: false })
  t.end()
})

t.test('limits are kept by label, the newest of each; pausing and resuming lanes leaves them as they are', (t) => {
  const limited = after(module, [M['limit (gpu, 2)'], M['limit (ci, 0)'], M['pause (all)'], M['resume (all)']])
  t.strictSame(limited.context.label_limits, [
    { label: 'ci', max_running: 0, at: M['limit (ci, 0)'].at, origin: 'unknown' },
    { label: 'gpu', max_running: 2, at: M['limit (gpu, 2)'].at, origin: 'ann-laptop', by: BY },
  ])
  const again = step(module, limited, at(8, { type: 'limit', label: 'gpu', max_running: 2 }))
  t.equal(again.facts[0]!.type, 'pacing_label_limited', 'the same limit is stated again')
  t.strictSame(again.snapshot.context.label_limits, limited.context.label_limits, 'and is still the earlier one')
  const lower = step(module, limited, at(9, { type: 'limit', by: BY, label: 'gpu', max_running: 1 }))
  t.strictSame(
    lower.snapshot.context.label_limits.map(({ label, max_running }: any) => [label, max_running]),
    [
      ['ci', 0],
      ['gpu', 1],
    ],
  )
  const fact = lower.facts[0] as OwnFact
  t.equal(fact.type, 'pacing_label_limited')
  t.strictSame(fact.payload, { label: 'gpu', max_running: 1, operator_origin: 'ann-laptop' })
  const ended = step(module, lower.snapshot, M['unlimit (gpu)'])
  t.strictSame((ended.facts[0] as OwnFact).payload, { label: 'gpu', operator_origin: 'ann-laptop' })
  t.equal(ended.facts[0]!.type, 'pacing_label_unlimited')
  t.strictSame(ended.snapshot.context.label_limits, limited.context.label_limits.slice(0, 1))
  t.end()
})

t.test('weights are kept by project, and a weight of 1 takes one back', (t) => {
  const bank = at(7, { type: 'weigh', project: 'bank', weight: 2 } as const)
  const weighed = after(module, [M['weigh (shop, 3)'], bank, M['limit (gpu, 2)'], M['pause (all)']])
  t.strictSame(weighed.context.weights, [
    { project: 'bank', weight: 2, at: bank.at, origin: 'unknown' },
    { project: 'shop', weight: 3, at: M['weigh (shop, 3)'].at, origin: 'ann-laptop', by: BY },
  ])
  const again = step(module, weighed, at(10, { type: 'weigh', project: 'shop', weight: 3 }))
  t.strictSame((again.facts[0] as OwnFact).payload, { project: 'shop', weight: 3, operator_origin: 'unknown' })
  t.strictSame(again.snapshot.context.weights, weighed.context.weights, 'the same weight is still the earlier one')
  const back = step(module, weighed, M['weigh (shop, 1)'])
  t.equal(back.facts[0]!.type, 'pacing_project_weighed')
  t.strictSame(back.snapshot.context.weights, weighed.context.weights.slice(0, 1))
  t.strictSame(back.snapshot.context.label_limits, weighed.context.label_limits)
  t.end()
})

t.test('so many projects may have a weight, and one more only in place of another', (t) => {
  const weigh = (project: string, weight: number) => at(900, { type: 'weigh', project, weight } as const)
  const full = after(
    module,
    Array.from({ length: WEIGHTS_MAX }, (_, n) => weigh(`p${n}`, 2)),
  )
  t.equal(step(module, full, weigh('one-more', 2)).refused, 'too_many_weights')
  t.equal(step(module, full, weigh('p7', 70)).snapshot.context.weights.length, WEIGHTS_MAX)
  t.notOk(step(module, full, weigh('one-more', 1)).refused, 'it has a weight of 1 already')
  const room = step(module, full, weigh('p7', 1))
  t.equal(step(module, room.snapshot, weigh('one-more', 2)).snapshot.context.weights.length, WEIGHTS_MAX)
  t.end()
})

t.test('so many labels may be limited, and one more only in place of another', (t) => {
  const limits = Array.from({ length: LABEL_LIMITS_MAX }, (_, n) =>
    at(n + 1, { type: 'limit', label: `l${n}`, max_running: n } as const),
  )
  const full = after(module, limits)
  const next = at(900, { type: 'limit', label: 'one-more', max_running: 1 } as const)
  t.equal(step(module, full, next).refused, 'too_many_label_limits')
  const again = step(module, full, at(901, { type: 'limit', label: 'l7', max_running: 70 }))
  t.equal(again.snapshot.context.label_limits.length, LABEL_LIMITS_MAX)
  const room = step(module, full, at(902, { type: 'unlimit', label: 'l7' }))
  t.ok(step(module, room.snapshot, next).snapshot.context.label_limits.some(({ label }: any) => label === 'one-more'))
  t.end()
})

t.test('what an event says of a limit is held by the state that it led to, and by no other', (t) => {
  const before = after(module, [M['pause (campaign)'], M['limit (gpu, 2)']])
  const { testimony } = module
  const said = (fact: unknown) => {
    const event = { payload: (fact as OwnFact).payload } as StatedFact
    const [aspect] = testimony.aspects(event)
    return { aspect, claims: testimony.claims(aspect!, event) }
  }
  const lowered = step(module, before, at(8, { type: 'limit', label: 'gpu', max_running: 1 }))
  const { aspect, claims } = said(lowered.facts[0])
  t.equal(aspect, 'limit')
  t.strictSame(differences(claims, testimony.held(lowered.snapshot)), [])
  t.equal(differences(claims, testimony.held(before)).length, 1)
  const weighed = step(module, before, M['weigh (shop, 3)'])
  const weight = said(weighed.facts[0])
  t.equal(weight.aspect, 'terms')
  t.strictSame(differences(weight.claims, testimony.held(weighed.snapshot)), [])
  t.equal(differences(weight.claims, testimony.held(before)).length, 1)
  const back = said(step(module, weighed.snapshot, M['weigh (shop, 1)']).facts[0])
  t.strictSame(differences(back.claims, testimony.held(before)), [])
  t.equal(differences(back.claims, testimony.held(weighed.snapshot)).length, 1)
  const ended = step(module, lowered.snapshot, M['unlimit (gpu)'])
  const end = said(ended.facts[0]).claims
  t.strictSame(differences(end, testimony.held(ended.snapshot)), [])
  t.equal(differences(end, testimony.held(before)).length, 1)
  t.end()
})

t.test('a state of version 1 keeps its pauses and gets no limits', (t) => {
  const old = {
    status: 'active',
    value: 'paused',
    context: { paused: [{ lane: 'campaign', at: 'then', origin: 'x' }] },
  }
  const { context, value } = module.migrations[1]!(old) as typeof old
  t.equal(value, 'paused')
  t.strictSame(context, { ...old.context, label_limits: [] })
  t.end()
})

t.test('a state of version 2 keeps its pauses and limits and gets no weights', (t) => {
  const label_limits = [{ label: 'gpu', max_running: 2, at: 'then', origin: 'x' }]
  const old = { status: 'active', value: 'open', context: { paused: [], label_limits } }
  const { context, value } = module.migrations[2]!(old) as typeof old
  t.equal(value, 'open')
  t.strictSame(context, { ...old.context, weights: [] })
  t.end()
})
