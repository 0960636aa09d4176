import t from 'tap'
import type { Actor } from '../../../runtime/actor.ts'
import type { BatchedStep } from '../../../runtime/batch.ts'
import { timersPerReadMax, timersStuckMs, turnsHeardBeforeDue } from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { defaultSettings } from '../../../runtime/settings.ts'
import { Due } from '../../../runtime/time/due.ts'
import { TurnedNature } from '../../natures/turned.ts'

t.test('thousands that fall due in one millisecond follow one another as they are used up', async (t) => {
  const nature = new TurnedNature()
  const dueMs = nature.wallMs() + 50
  const row = (n: number) => ({ kind: 'work_item', id: `wi_${n}`, name: 'n', dueMs, generation: 1, message: {} })
  const rows = new Map(Array.from({ length: 6 * timersPerReadMax }, (_, n) => [`wi_${n}`, row(n)]))
  const journal = {
    timers: (_from: number, _to: number, limit: number) => [...rows.values()].slice(0, limit),
    refuses: () => undefined,
  }
  /** Its step is committed a turn later. */
  const deliver = (ref: { readonly id: string }): void =>
    nature.nextTurn(() => {
      const { name, generation } = rows.get(ref.id)!
      rows.delete(ref.id)
      const actor = { ref, stepper: { module: { deadlineStates: [] } } }
      const step = { before: { timers: { [name]: { dueMs, generation } } }, after: { timers: {} }, timersSet: [] }
      due.committed(actor as unknown as Actor, step as unknown as BatchedStep, nature.monotonicMs())
      due.wait()
    })
  const settings = { ...defaultSettings, home: '/nowhere' }
  const due = new Due({ nature, journal: journal as never, settings, log: silentLogger, deliver })
  due.wait()
  nature.advance(49)
  t.equal(rows.size, 6 * timersPerReadMax)
  nature.advance(timersStuckMs / 2)
  t.equal(rows.size, 0)
})

t.test('who has spoken by the time at which something is due is heard first', async (t) => {
  const leaseMs = 60_000
  const timers: (() => void)[] = []
  const turns: (() => void)[] = []
  const clock = { nowMs: 0 }
  const nature = {
    wallMs: () => clock.nowMs,
    monotonicMs: () => clock.nowMs,
    randomHex: () => '0',
    setTimer: (callback: () => void) => timers.push(callback),
    clearTimer: () => {},
    nextTurn: (callback: () => void) => void turns.push(callback),
  }
  const journal = { timers: () => [], refuses: () => undefined }
  const delivered: string[] = []
  const settings = { ...defaultSettings, home: '/nowhere' }
  const deliver = ({ id }: { readonly id: string }): void => void delivered.push(id)
  const due = new Due({ nature, journal: journal as never, settings, log: silentLogger, deliver })
  const lease = {
    name: 'lease',
    key: '1',
    afterMs: leaseMs,
    renewedBy: ['heartbeat'],
    message: { type: 'lease_expired' },
  }
  const module = { kind: 'run_request', deadlineStates: ['started'], deadlines: () => [lease] }
  const rows = ['silent', 'heard'].map((id) => ({ ref: { kind: 'run_request', id }, snapshot: {} }))
  due.begin({ module } as never, { scan: () => rows } as never)
  const turn = (): void => {
    for (const callback of turns.splice(0)) callback()
  }
  due.wait()
  // The timers of the near future are read.
  timers.pop()!()
  for (let read = 0; read < turnsHeardBeforeDue; read++) turn()
  clock.nowMs = leaseMs
  timers.pop()!()
  for (let heard = 1; heard <= turnsHeardBeforeDue; heard++) {
    t.same(delivered, [], `turn ${heard}`)
    // What lay in a socket is read in the one before the last at the latest, and said to it.
    if (heard === turnsHeardBeforeDue) due.renew('run_request/heard')
    turn()
  }
  t.same(delivered, ['silent'])
  due.stop()
  clock.nowMs = 2 * leaseMs
  timers.pop()!()
  while (turns.length > 0) turn()
  t.same(delivered, ['silent'], 'nothing falls due in a service that has stopped')
})

t.test('what is counted as passed is what a machine took for that', async (t) => {
  const nature = new TurnedNature()
  const settings = { ...defaultSettings, home: '/nowhere' }
  const due = new Due({ nature, journal: {} as never, settings, log: silentLogger, deliver: () => {} })
  const lease = { from: 'deadline', name: 'lease', isDue: () => true }
  const settled = [
    [lease, { ok: true }],
    [lease, { ok: true, repeat: 'already_lost' }],
    [lease, { ok: false }],
    [{ from: 'timer', name: 'lease' }, { ok: true }],
    [{ ...lease, name: 'offer' }, { ok: true }],
    [{ from: 'outside' }, { ok: true }],
  ].map(([source, answer]) => ({ mail: { source }, answer }))
  due.settled(settled as never)
  due.settled(settled.slice(0, 1) as never)
  t.same(
    [...due.passed],
    [
      ['lease', 2],
      ['offer', 1],
    ],
  )
})
