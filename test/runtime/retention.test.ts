import t, { type Test } from 'tap'
import { ACTOR_KINDS, type ActorKind, type MachineModule } from '../../machines/machine.ts'
import type { Answer } from '../../runtime/api.ts'
import { KEPT_KEYS, keptKey, madeByKey } from '../../runtime/entities/kept-keys.ts'
import {
  retentionRowsKeptPerSweepMax,
  retentionRowsPerPage,
  retentionSweepMs,
  retentionToldMs,
} from '../../runtime/limits.ts'
import { type Logger, silentLogger } from '../../runtime/log.ts'
import { createRuntime } from '../../runtime/runtime.ts'
import { defaultSettings, type Settings } from '../../runtime/settings.ts'
import type { TrimCut } from '../../storage/journal.ts'
import { ManualPlatform } from '../platforms/manual.ts'
import { MemoryJournal } from '../storage/memory.ts'
import { toyModule } from './toy.ts'

const HOUR_MS = 3_600_000

/** When a toy ended, where that differs from when it was created. */
const endings = new Map<string, string>()

/** A toy ends its life when it is switched off; its id is the time of its creation. */
const mortal: MachineModule = {
  ...toyModule,
  retirement: { index: 'state', values: ['off'], at: ({ context }) => endings.get(context.id) ?? context.id },
  terms: ({ value, context }) => [
    { index: 'all', value: '', order: context.id },
    { index: 'state', value, order: endings.get(context.id) ?? context.id },
  ],
  testimony: { ...toyModule.testimony, madeAt: ({ id }) => id },
}
const modules = Object.fromEntries(ACTOR_KINDS.map((kind) => [kind, { ...mortal, kind }])) as Record<
  ActorKind,
  MachineModule
>

function open(t: Test, rest: Partial<Settings>, log: Logger = silentLogger) {
  const platform = new ManualPlatform()
  const journal = new MemoryJournal()
  const settings = { ...defaultSettings, home: '/nowhere', ...rest }
  const runtime = createRuntime(journal, settings, { platform, log, modules, onFatal: t.fail })
  const say = (id: string, type: string, more: object = {}): Answer | undefined => {
    let answer: Answer | undefined
    runtime.ask({ kind: 'project', id }, { type, id, ...more } as never, (given) => {
      answer = given
    })
    platform.run()
    return answer
  }
  const now = () => new Date(platform.wallMs()).toISOString()
  const sweep = async (): Promise<void> => {
    platform.advance(retentionSweepMs)
    for (let turn = 0; turn < 60; turn++) {
      platform.run()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { platform, journal, runtime, say, now, sweep }
}

t.test(
  'events and settled entities older than retention are forgotten; unsettled and younger ones are kept',
  async (t) => {
    const { platform, journal, runtime, say, now, sweep } = open(t, { retentionMs: 24 * HOUR_MS })
    const settledEarly = now()
    say(settledEarly, 'create')
    say(settledEarly, 'stop')
    platform.advance(1)
    const unsettled = now()
    say(unsettled, 'create')
    platform.advance(20 * HOUR_MS)
    const settledLate = now()
    say(settledLate, 'create')
    say(settledLate, 'stop')
    const before = journal.oldestSequence

    await sweep()
    t.equal(journal.oldestSequence, before, 'nothing is old enough yet')
    t.ok(runtime.read({ kind: 'project', id: settledEarly }))

    platform.advance(5 * HOUR_MS)
    // The sweep that began on the way ends first; the next one sees the new time.
    await sweep()
    await sweep()
    t.equal(runtime.read({ kind: 'project', id: settledEarly }), undefined)
    t.ok(runtime.read({ kind: 'project', id: unsettled }))
    t.ok(runtime.read({ kind: 'project', id: settledLate }))
    t.equal(journal.oldestSequence, 3, 'the two old events are gone, the young one stays')
    const { snapshots } = await runtime.list({ kind: 'project', index: 'all', value: '', limit: 10 })
    t.same(
      snapshots.map((one) => one.context.id),
      [settledLate, unsettled],
    )
    t.match(say(unsettled, 'bump'), { ok: true })
    await runtime.close()
  },
)

t.test(
  'what is forgotten is logged at once and then hourly in one line, also after a failed sweep; empty sweeps log nothing',
  async (t) => {
    const lines: object[] = []
    const log = { ...silentLogger, info: (fields: object) => void lines.push(fields) }
    const { platform, journal, runtime, say, now, sweep } = open(t, { retentionMs: 24 * HOUR_MS }, log)
    const trim = journal.trim.bind(journal)
    let stepsLeft = 1
    // One event a step.
    journal.trim = async (cut) => {
      if (stepsLeft === 0) throw new Error('the disk does not give it')
      const step = await trim({ ...cut, beforeSequence: journal.oldestSequence + 1 } as TrimCut)
      stepsLeft -= step.removed
      return { ...step, more: step.removed > 0 }
    }
    const ended = now()
    say(ended, 'create')
    say(ended, 'bump')
    say(ended, 'bump')
    say(ended, 'stop')
    await sweep()
    t.equal(journal.lastSequence, 3)
    t.same(lines, [])
    platform.advance(24 * HOUR_MS)
    const one = { lastForgotten: 1, recordedBefore: /^\d{4}-\d\d-\d\dT.*Z$/, events: 1, entities: 0 }
    await sweep()
    await sweep()
    t.match(lines, [one])
    stepsLeft = 1
    await sweep()
    await sweep()
    t.equal(journal.oldestSequence, 3)
    stepsLeft = Number.POSITIVE_INFINITY
    await sweep()
    await sweep()
    t.equal(runtime.read({ kind: 'project', id: ended }), undefined)
    t.equal(lines.length, 1, 'the hour is not over')
    platform.advance(retentionToldMs - 10 * retentionSweepMs)
    await sweep()
    t.equal(lines.length, 1)
    platform.advance(10 * retentionSweepMs)
    await sweep()
    await sweep()
    t.match(
      lines,
      [one, { ...one, lastForgotten: 3, events: 2, entities: 1 }],
      'what was forgotten since is logged together',
    )
    platform.advance(retentionToldMs)
    await sweep()
    await sweep()
    t.equal(lines.length, 2)
    say(now(), 'create')
    platform.advance(24 * HOUR_MS)
    await sweep()
    await sweep()
    t.match(
      lines.slice(2),
      [{ lastForgotten: 4, events: 1, entities: 0 }],
      'the first sweep after a quiet hour logs at once',
    )
    await runtime.close()
  },
)

t.test('messages of an entity recreated under a forgotten id are delivered, not taken for repeats', async (t) => {
  const { platform, journal, runtime, say, now, sweep } = open(t, { retentionMs: 24 * HOUR_MS })
  const hub = now()
  say(hub, 'create')
  platform.advance(1)
  const monthly = now()
  const live = async (...texts: string[]): Promise<void> => {
    say(monthly, 'create')
    for (const text of texts) say(monthly, 'tell', { to: hub, text })
    say(monthly, 'stop')
    platform.advance(25 * HOUR_MS)
    await sweep()
    await sweep()
    t.equal(runtime.read({ kind: 'project', id: monthly }), undefined)
  }
  await live('one', 'two', 'three')
  await live('four')
  t.same(runtime.read({ kind: 'project', id: hub })!.context.heard, ['one', 'two', 'three', 'four'])

  // A message that the hub fails at waits as a row, even when its sender is gone and recreated.
  say(monthly, 'create')
  say(monthly, 'tell', { to: hub, message: 'break' })
  say(monthly, 'stop')
  platform.advance(25 * HOUR_MS)
  await sweep()
  await sweep()
  await live('five')
  t.same(
    [...journal.outbox()].map(({ message }: any) => message.type),
    ['break', 'hear'],
    'the new row stands behind the old one and does not replace it',
  )
  await runtime.close()
})

t.test('an ended entity is kept for its idempotency and late-event times, however short retention is', async (t) => {
  const promises = { retentionMs: HOUR_MS, idempotencyMs: 24 * HOUR_MS, lateEventsMs: 1 }
  const { platform, journal, runtime, say, now, sweep } = open(t, promises)
  const ended = now()
  say(ended, 'create')
  say(ended, 'stop')
  platform.advance(2 * HOUR_MS)
  await sweep()
  await sweep()
  t.equal(journal.oldestSequence, journal.lastSequence + 1, 'its events are gone')
  t.ok(runtime.read({ kind: 'project', id: ended }), 'the entity is not')
  platform.advance(23 * HOUR_MS)
  await sweep()
  await sweep()
  t.equal(runtime.read({ kind: 'project', id: ended }), undefined)
  await runtime.close()
})

t.test('one sweep forgets everything that is due over many pages, past rows that must stay', async (t) => {
  const { platform, journal, runtime, say, sweep } = open(t, {
    retentionMs: HOUR_MS,
    idempotencyMs: 1,
    lateEventsMs: 1,
  })
  const start = platform.wallMs()
  const stays = retentionRowsKeptPerSweepMax + retentionRowsPerPage
  const goes = 2 * retentionRowsPerPage + 1
  // Entities that were created early and ended late come first in the index.
  const made = (n: number) => new Date(start + n).toISOString()
  for (let n = 0; n < stays + goes; n++) {
    const id = made(n)
    endings.set(id, n < stays ? new Date(start + 100 * HOUR_MS).toISOString() : id)
    say(id, 'create')
    say(id, 'stop')
  }
  const left = () => journal.count('project', 'state', 'off')
  t.equal(left(), stays + goes)
  platform.advance(2 * HOUR_MS)
  await sweep()
  await sweep()
  await sweep()
  t.equal(left(), stays)
  platform.advance(100 * HOUR_MS)
  await sweep()
  await sweep()
  await sweep()
  t.equal(left(), 0)
  await runtime.close()
})

t.test('idempotency keys expire in bounded sweeps, even when nothing else does', async (t) => {
  const { platform, journal, runtime, sweep } = open(t, { idempotencyMs: HOUR_MS })
  const keep = (n: number): void => {
    const id = `p${n}`
    const reservation = keptKey(runtime, `place${n}`, { id, fingerprint: 'f' })
    runtime.ask({ kind: 'project', id }, { type: 'create', id, reservation } as never, () => {})
    platform.run()
  }
  const goes = 2 * retentionRowsPerPage + 1
  const stays = retentionRowsKeptPerSweepMax + retentionRowsPerPage
  for (let n = 0; n < goes; n++) keep(n)
  platform.advance(HOUR_MS - 60_000)
  for (let n = goes; n < goes + stays; n++) keep(n)
  const numbers = Array.from({ length: goes + stays }, (_, n) => n)
  const left = () => numbers.filter((n) => journal.reservation(KEPT_KEYS, `place${n}`) !== undefined)
  await sweep()
  t.equal(left().length, goes + stays, 'they have not expired yet')
  const looks: number[] = []
  const look = journal.sweepReservations.bind(journal)
  journal.sweepReservations = async (asked) => {
    const page = await look(asked)
    looks.push(page.looked - page.removed)
    return page
  }
  platform.advance(60_000)
  for (let n = 0; n < 4; n++) {
    looks.length = 0
    await sweep()
    t.ok(looks.reduce((sum, kept) => sum + kept, 0) < retentionRowsKeptPerSweepMax + retentionRowsPerPage)
  }
  t.same(left(), numbers.slice(goes))
  for (const n of numbers.slice(goes)) t.ok(madeByKey(runtime, `place${n}`))
  t.equal(journal.oldestSequence, 1, 'no event is removed')
  t.ok(runtime.read({ kind: 'project', id: 'p0' }), 'nor any entity that a key created')
  await runtime.close()
})

t.test('no idempotency key is swept while the journal refuses writes', async (t) => {
  const { platform, journal, runtime, sweep } = open(t, { idempotencyMs: 1 })
  const reservation = keptKey(runtime, 'place', { id: 'p', fingerprint: 'f' })
  runtime.ask({ kind: 'project', id: 'p' }, { type: 'create', id: 'p', reservation } as never, () => {})
  platform.run()
  journal.refuse('read_only')
  await sweep()
  t.ok(journal.reservation(KEPT_KEYS, 'place'))
  journal.refuse(undefined)
  await sweep()
  t.equal(journal.reservation(KEPT_KEYS, 'place'), undefined)
  await runtime.close()
})

/** A runtime with an ended project and an idempotency key, both past their time. */
function withOld(t: Test) {
  const opened = open(t, { retentionMs: HOUR_MS, idempotencyMs: 1, lateEventsMs: 1 })
  const { platform, runtime, say, now } = opened
  const reservation = keptKey(runtime, 'place', { id: 'p', fingerprint: 'f' })
  runtime.ask({ kind: 'project', id: 'p' }, { type: 'create', id: 'p', reservation } as never, () => {})
  platform.advance(5_000)
  const ended = now()
  say(ended, 'create')
  say(ended, 'stop')
  platform.advance(2 * HOUR_MS)
  return { ...opened, ended }
}

t.test('under the disk reserve a sweep removes old events, and neither entities nor keys', async (t) => {
  const { journal, runtime, sweep, ended } = withOld(t)
  journal.refuse('disk_reserve')
  await sweep()
  await sweep()
  t.equal(journal.oldestSequence, journal.lastSequence + 1)
  t.ok(runtime.read({ kind: 'project', id: ended }))
  t.ok(journal.reservation(KEPT_KEYS, 'place'))
  journal.refuse(undefined)
  await sweep()
  await sweep()
  t.equal(runtime.read({ kind: 'project', id: ended }), undefined)
  t.equal(journal.reservation(KEPT_KEYS, 'place'), undefined)
  await runtime.close()
})

t.test('when events cannot be removed, keys still expire, and entities stay with their events', async (t) => {
  const { journal, runtime, sweep, ended } = withOld(t)
  journal.trim = () => Promise.reject(new Error('what is stored cannot be read'))
  await sweep()
  await sweep()
  t.equal(journal.reservation(KEPT_KEYS, 'place'), undefined)
  t.ok(runtime.read({ kind: 'project', id: ended }))
  await runtime.close()
})

t.test(
  'an entity whose end is dated before its creation, by a clock set back, stays as long as its creation event',
  async (t) => {
    const { platform, runtime, journal, say, now, sweep } = open(t, {
      retentionMs: HOUR_MS,
      idempotencyMs: 1,
      lateEventsMs: 1,
    })
    platform.advance(5_000)
    const made = now()
    endings.set(made, new Date(platform.wallMs() - 2 * HOUR_MS).toISOString())
    say(made, 'create')
    say(made, 'stop')
    await sweep()
    t.equal(journal.oldestSequence, 1)
    t.ok(runtime.read({ kind: 'project', id: made }))
    platform.advance(2 * HOUR_MS)
    await sweep()
    await sweep()
    t.equal(runtime.read({ kind: 'project', id: made }), undefined)
    endings.delete(made)
    await runtime.close()
  },
)

t.test('an entity never goes before its creation event, however long a sweep takes', async (t) => {
  const { platform, journal, runtime, say, now, sweep } = open(t, {
    retentionMs: HOUR_MS,
    idempotencyMs: 1,
    lateEventsMs: 1,
  })
  const trim = journal.trim.bind(journal)
  let isSlow = false
  journal.trim = async (cut) => {
    const step = await trim(cut)
    if (isSlow) platform.advance(2 * HOUR_MS)
    isSlow = false
    return step
  }
  platform.advance(5_000)
  const ended = now()
  say(ended, 'create')
  say(ended, 'stop')
  await sweep()
  isSlow = true
  await sweep()
  t.notOk(isSlow)
  t.equal(journal.oldestSequence, 1, 'nothing was old when the sweep began')
  t.ok(runtime.read({ kind: 'project', id: ended }))
  await runtime.close()
})
