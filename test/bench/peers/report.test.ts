import t from 'tap'
import type { PeerResult } from '../../../bench/peers/client.ts'
import {
  goalFindings,
  goalTable,
  lostTo,
  type Measured,
  mainTable,
  plainWord,
  ratio,
} from '../../../bench/peers/report.ts'

const result = (cyclesPerSecond: number): PeerResult => ({
  cyclesPerSecond,
  p50Ms: 1,
  p99Ms: 2,
  serverCpuUsPerCycle: 30,
  clientCpuUsPerCycle: 40,
})

function system(name: string, rates: readonly (number | undefined)[], flushes: number | undefined): Measured {
  const rounds = rates.map((rate) => (rate === undefined ? undefined : result(rate)))
  return {
    name,
    server: name,
    version: '1',
    setting: 'as shipped',
    usage: 'three calls',
    rounds: { 1: rounds, 64: rounds },
    flushes: flushes === undefined ? {} : { 1: flushes, 64: flushes },
    bar: { row: 3, floor: 1, goal: 1.6 },
  }
}

const ours = system('Ours', [100, 200, 300], 6)

t.test('rates are compared round by round, leaving out rounds that either side lacks', async (t) => {
  t.equal(ratio(ours, system('Peer', [50, 50, 150], 3), 64), 2)
  t.equal(ratio(ours, system('Peer', [undefined, 50, 150], 3), 64), 3)
  t.ok(Number.isNaN(ratio(ours, system('Peer', [undefined, undefined, undefined], 3), 64)))
})

t.test("a system's flushes are described in plain words", async (t) => {
  t.match(plainWord(system('Peer', [1], 0)), /does not flush before it answers/)
  t.match(plainWord(system('Peer', [1], 0.2)), /mostly before it flushes/)
  t.equal(plainWord(system('Peer', [1], 1.1)), 'flushes one of the three steps')
  t.equal(plainWord(system('Peer', [1], 1.99)), 'flushes two of the three steps')
  t.equal(plainWord(system('Peer', [1], 2.7)), 'flushes each step')
  t.equal(plainWord(system('Peer', [1], undefined)), 'flushes not counted')
})

t.test('the main table has every system with its rounds, including failed ones', async (t) => {
  const failed = { ...system('Broken', [undefined], undefined), failure: 'it did not come up' }
  const lines = mainTable([ours, failed], [1, 64]).split('\n')
  t.equal(lines.length, 4)
  t.match(lines[2], /^\| Ours +\| 200 \(100 to 300\)/)
  t.match(lines[2], /\| 6\.00 \/ 6\.00 /)
  t.match(lines[3], /^\| Broken +\| failed/)
})

t.test('goals are compared with the ratio, and systems faster than ours are named', async (t) => {
  const fast = system('Fast', [400, 800, 1_200], 0)
  const slow = system('Slow', [50, 100, 150], 3)
  const table = goalTable(goalFindings({ measured: [ours, { ...ours, name: 'Ours otherwise' }, fast, slow] }))
  t.notMatch(table, 'Ours otherwise')
  t.match(table, /Fast +\| +0\.25 .*BELOW/)
  t.match(table, /Slow +\| +2 .*goal/)
  t.same(lostTo({ measured: [ours, fast, slow], clients: [1, 64] }), [
    '- One client alone: faster than ours: Fast 4 times (does not flush before it answers).',
    '- 64 clients: faster than ours: Fast 4 times (does not flush before it answers).',
  ])
  t.same(lostTo({ measured: [ours, slow], clients: [64] }), ['- 64 clients: nobody is faster than ours.'])
})
