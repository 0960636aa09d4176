import t from 'tap'
import type { OwnFact } from '../../machines/machine.ts'
import { lanesOf, pacingModule as module } from '../../machines/pacing.ts'
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
} as const

t.test('every message in every state has the outcome that the table shows', (t) => {
  const states = {
    absent: absent(module),
    open: after(module, [M['resume (all)']]),
    'paused (campaign)': after(module, [M['pause (campaign)']]),
    'paused (all)': after(module, [M['pause (all)']]),
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
