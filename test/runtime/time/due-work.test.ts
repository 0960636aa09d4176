import t from 'tap'
import type { Actor } from '../../../runtime/actor.ts'
import type { BatchedStep } from '../../../runtime/batch.ts'
import {
  timersPerReadMax,
  timersPerTurnMax,
  timersPerTurnMin,
  timersStuckMs,
  turnsHeardBeforeDue,
} from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { defaultSettings } from '../../../runtime/settings.ts'
import { DueWork } from '../../../runtime/time/due-work.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

const waiting = (): number => 0

t.test('thousands of timers due in one millisecond are all delivered, page after page', async (t) => {
  const platform = new ManualPlatform()
  const dueMs = platform.wallMs() + 50
  const row = (n: number) => ({ kind: 'work_item', id: `wi_${n}`, name: 'n', dueMs, generation: 1, message: {} })
  const rows = new Map(Array.from({ length: 6 * timersPerReadMax }, (_, n) => [`wi_${n}`, row(n)]))
  const journal = {
    timers: (_from: number, _to: number, limit: number) => [...rows.values()].slice(0, limit),
    refuses: () => undefined,
  }
  /** Its step is committed a turn later. */
  const deliver = (ref: { readonly id: string }): void =>
    platform.nextTurn(() => {
      const { name, generation } = rows.get(ref.id)!
      rows.delete(ref.id)
      const actor = { ref, stepper: { module: { deadlineStates: [] } } }
      const step = { before: { timers: { [name]: { dueMs, generation } } }, after: { timers: {} }, timersSet: [] }
      due.committed(actor as unknown as Actor, step as unknown as BatchedStep, platform.monotonicMs())
      due.wait()
    })
  const settings = { ...defaultSettings, home: '/nowhere' }
  const due = new DueWork({ platform, journal: journal as never, settings, log: silentLogger, waiting, deliver })
  due.wait()
  platform.advance(49)
  t.equal(rows.size, 6 * timersPerReadMax)
  platform.advance(timersStuckMs / 2)
  t.equal(rows.size, 0)
})

t.test('an actor whose renewal arrives in the turns before its deadline is delivered does not get it', async (t) => {
  const leaseMs = 60_000
  const timers: (() => void)[] = []
  const turns: (() => void)[] = []
  const clock = { nowMs: 0 }
  const platform = {
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
  const due = new DueWork({ platform, journal: journal as never, settings, log: silentLogger, waiting, deliver })
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
  // Reads the timers of the near future.
  timers.pop()!()
  for (let read = 0; read < turnsHeardBeforeDue; read++) turn()
  clock.nowMs = leaseMs
  timers.pop()!()
  for (let heard = 1; heard <= turnsHeardBeforeDue; heard++) {
    t.same(delivered, [], `turn ${heard}`)
    // The socket's input of that time is read at the latest in the last but one of these turns, and renews.
    if (heard === turnsHeardBeforeDue) due.renew('run_request/heard')
    turn()
  }
  t.same(delivered, ['silent'])
  due.stop()
  clock.nowMs = 2 * leaseMs
  timers.pop()!()
  while (turns.length > 0) turn()
  t.same(delivered, ['silent'], 'nothing falls due after stop')
})

t.test('passed counts only deadlines that a machine accepted as new', async (t) => {
  const platform = new ManualPlatform()
  const settings = { ...defaultSettings, home: '/nowhere' }
  const due = new DueWork({ platform, journal: {} as never, settings, log: silentLogger, waiting, deliver: () => {} })
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

t.test('a mass of timers falls due in turns, as far as other work leaves room, and always a few of them', (t) => {
  const platform = new ManualPlatform()
  const dueMs = platform.wallMs()
  const rows = Array.from({ length: 1_000 }, (_, n) => ({
    kind: 'work_item',
    id: `wi_${n}`,
    name: 'n',
    dueMs,
    generation: 1,
    message: {},
  }))
  const journal = { timers: () => rows.splice(0), refuses: () => undefined }
  const settings = { ...defaultSettings, home: '/nowhere' }
  const others = [0, timersPerTurnMax - 30, timersPerTurnMax, 10_000]
  const fired: number[] = []
  const due = new DueWork({
    platform,
    journal: journal as never,
    settings,
    log: silentLogger,
    // Asked once each time.
    waiting: () => others[fired.push(0) - 1] ?? 0,
    deliver: () => void fired[fired.length - 1]!++,
  })
  due.wait()
  platform.advance(50)
  t.same(fired.slice(0, 4), [timersPerTurnMax, 30, timersPerTurnMin, timersPerTurnMin])
  t.equal(
    fired.reduce((sum, count) => sum + count),
    1_000,
    'all in the end',
  )
  t.end()
})
