import fc from 'fast-check'
import t from 'tap'
import { sentinelDocument } from '../../machines/documents/sentinel.ts'
import type { Message } from '../../machines/machine.ts'
import { compile } from '../../machines/schema.ts'
import { nextDue } from '../../machines/sentinel/calendar.ts'
import { LATE_MS_MAX, sentinelModule as module } from '../../machines/sentinel.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('sentinel')

const CREATE = {
  type: 'create',
  by: { id: 'tok_1', name: 'ada' },
  name: 'nightly',
  project: 'shop',
  project_id: `proj_${'a'.repeat(24)}`,
  cron: '30 2 * * *',
  time_zone: 'UTC',
  item: { objective: 'Tidy up', kind: 'maintenance', labels: ['linux'] },
  idempotency_key: 'key-1',
  fingerprint: 'fingerprint-1',
}
const created = after(module, [at(0, CREATE)])
const DUE = created.context.next_at as string
/** Falls due, so many milliseconds late. */
const due = (lateMs = 0, more: object = {}, due_at = DUE) => {
  const atMs = Date.parse(due_at) + lateMs
  return { ...at(0, { type: 'fall_due', due_at, ...more }), atMs, at: new Date(atMs).toISOString() }
}
const duplicate = { why_not: { code: 'duplicate', item_id: `wi_${'b'.repeat(24)}` } }
const M = {
  create: at(0, CREATE),
  'create (other body)': at(1, { ...CREATE, fingerprint: 'fingerprint-2' }),
  'create (other key)': at(1, { ...CREATE, idempotency_key: 'key-2' }),
  update: at(2, { type: 'update', cron: '0 4 * * *' }),
  'update (item)': at(2, { type: 'update', item: { objective: 'Sweep' } }),
  'update (same)': at(2, { type: 'update', cron: CREATE.cron, item: CREATE.item }),
  pause: at(3, { type: 'pause' }),
  resume: at(4, { type: 'resume' }),
  fire: at(5, { type: 'fire' }),
  'fire (duplicate)': at(5, { type: 'fire', ...duplicate }),
  fall_due: due(),
  'fall_due (duplicate)': due(0, duplicate),
  'fall_due (late)': due(LATE_MS_MAX),
  'fall_due (too late)': due(LATE_MS_MAX + 1),
  'fall_due (archived)': due(0, { why_not: { code: 'project_archived' } }),
  'fall_due (of an earlier pattern)': due(0, {}, '2020-01-01T00:00:00.000Z'),
  remove: at(6, { type: 'remove' }),
  reckon: at(7, { type: 'reckon' }),
}
const paused = after(module, [M.create, M.pause])
/** Fell due by a clock that was a year ahead, which has been set right since. */
const YEAR_MS = 365 * 86_400_000
const missed = step(module, created, due(YEAR_MS)).snapshot
const far = step(module, missed, due(0, {}, missed.context.next_at)).snapshot
/** In a process whose Node.js does not know the zone. */
const zoned = <S extends { context: any }>(snapshot: S): S => ({
  ...snapshot,
  context: { ...snapshot.context, time_zone: 'Mars/Olympus' },
})
const removed = after(module, [M.create, M.remove])

t.test('a sentinel with a next time needs the timer that rings then', (t) => {
  t.strictSame([module.timers!(created), module.timers!(paused)], [['due'], []])
  t.end()
})

t.test('every message in every state has the outcome that the table shows', (t) => {
  const unknown = { 'active, zone unknown': zoned(created), 'paused, zone unknown': zoned(paused) }
  const states = { absent: absent(module), active: created, 'active, silent': far, paused, removed, ...unknown }
  t.matchSnapshot(table(module, states, M), 'sentinel')
  t.end()
})

t.test('when it falls due it submits one item, and waits for the next time', (t) => {
  const { snapshot, sends, facts } = step(module, created, M.fall_due)
  t.match(sends, [
    {
      to: { kind: 'work_item' },
      message: {
        type: 'create',
        objective: 'Tidy up',
        kind: 'maintenance',
        lane: 'maintenance',
        labels: ['linux'],
        source: { kind: 'sentinel', ref: 'nightly' },
        submitted_by: created.context.by,
      },
    },
  ])
  const { item_id } = snapshot.context.last
  t.equal((sends as any)[0].to.id, item_id)
  t.match(facts, [{ type: 'sentinel_fired', payload: { sentinel: 'nightly', due_at: DUE, item_id } }])
  t.equal(Date.parse(snapshot.context.next_at) - Date.parse(DUE), 86_400_000)
  t.equal(snapshot.context.fired, 1)
  const again = step(module, created, due(5_000))
  t.equal(again.snapshot.context.last.item_id, item_id, 'the same time is the same item, however late')
  const other = step(module, snapshot, due(0, {}, snapshot.context.next_at))
  t.not(other.snapshot.context.last.item_id, item_id)
  t.end()
})

t.test('what is asked for already, came too late, or is not taken by its project, is skipped', (t) => {
  for (const [message, skipped] of [
    [M['fall_due (duplicate)'], 'duplicate'],
    [M['fall_due (too late)'], 'missed'],
    [M['fall_due (archived)'], 'project_archived'],
  ] as const) {
    const { snapshot, sends, facts } = step(module, created, message)
    t.strictSame(sends, [], skipped)
    t.match(facts, [{ type: 'sentinel_skipped', payload: { due_at: DUE, skipped } }])
    t.match(snapshot.context, { fired: 0, last: { skipped } })
    t.ok(snapshot.context.next_at > DUE)
  }
  t.end()
})

t.test('times at which it submitted nothing are counted until it submits, is changed or resumed', (t) => {
  const [second, third] = [1, 2].map((days) => new Date(Date.parse(DUE) + days * 86_400_000).toISOString())
  const skipped = [due(0, duplicate), due(LATE_MS_MAX + 1, {}, second), due(0, duplicate, third)]
  const needs = (messages: readonly Message<any>[]) => {
    const snapshot = after(module, [M.create, ...messages])
    const { times } = snapshot.context.skipping ?? { times: 0 }
    return [times, module.terms(snapshot).find(({ index }) => index === 'attention')?.value]
  }
  t.same(needs(skipped.slice(0, 2)), [2, undefined])
  t.same(needs(skipped), [3, 'skipping'])
  t.same(needs([...skipped, M['fire (duplicate)']]), [3, 'skipping'])
  for (const messages of [[M.fire], [M.update], [M['update (item)']], [M.pause, M.resume]])
    t.same(needs([...skipped, ...messages]), [0, undefined], messages.at(-1)!.type)
  t.same(needs([...skipped, M.pause]), [3, undefined], 'a paused one calls for nobody')
  t.end()
})

t.test('after a long stop it waits for the next time to come, and makes up for none', (t) => {
  const { snapshot } = step(module, created, due(10 * 86_400_000 + 60_000))
  t.equal(Date.parse(snapshot.context.next_at), Date.parse(DUE) + 11 * 86_400_000)
  t.end()
})

t.test('a clock that was set back does not have it fall due twice for one time', (t) => {
  const { snapshot } = step(module, created, due(-3_600_000))
  t.ok(snapshot.context.next_at > DUE)
  for (const message of [M.fire, M.reckon, M['update (item)']])
    t.ok(step(module, snapshot, message).snapshot.context.next_at > DUE, message.type)
  t.end()
})

t.test('somebody who resumes it then, or changes its times, has the time come again, for another item', (t) => {
  const first = step(module, created, due()).snapshot
  const zone = at(2, { type: 'update', time_zone: 'Etc/UTC' })
  for (const messages of [[M.pause, M.resume], [zone], [M.fire, M.pause, M.resume]]) {
    const before = after(module, [M.create, due(), ...messages])
    t.equal(before.context.next_at, DUE, messages[0]!.type)
    const { snapshot, sends } = step(module, before, due())
    t.equal(sends.length, 1)
    t.not(snapshot.context.last.item_id, first.context.last.item_id)
  }
  const { facts } = step(module, first, zone)
  t.match(facts, [{ type: 'sentinel_updated', payload: { changed: ['time_zone'], next_at: DUE } }])
  t.end()
})

t.test('one that has fallen due, or was added, by a clock far ahead is not silent until that time', (t) => {
  t.ok(Date.parse(far.context.next_at) > Date.parse(DUE) + YEAR_MS)
  const { snapshot, facts, scheduled } = step(module, far, M.reckon)
  t.equal(snapshot.context.next_at, DUE)
  t.match(facts, [{ type: 'sentinel_updated', payload: { changed: ['next_at'], state: 'active', next_at: DUE } }])
  t.match(scheduled, [{ dueMs: Date.parse(DUE) }])
  t.equal(step(module, snapshot, M.reckon).repeat, 'unchanged')
  const item = step(module, snapshot, due()).snapshot.context.last.item_id
  t.not(item, far.context.last.item_id)
  t.equal(after(module, [at(YEAR_MS / 1_000, CREATE), M.reckon]).context.next_at, DUE, 'added then')
  t.equal(step(module, missed, M.reckon).snapshot.context.next_at, '2026-01-02T02:30:00.000Z', 'missed today')
  const skipped = due(0, duplicate, missed.context.next_at)
  const { since } = after(module, [at(0, CREATE), due(YEAR_MS), skipped, M.reckon, due(0, duplicate)]).context.skipping
  t.ok(since < '2026-01-02', 'what it has skipped since then counts from a time that has come')
  t.end()
})

t.test('a time that has come and was not handled yet is not passed over', (t) => {
  const { next_at, internal } = created.context
  const late = { ...M.reckon, atMs: Date.parse(next_at) + 60_000 }
  t.equal(step(module, created, late).repeat, 'unchanged')
  t.equal(internal.due_at, undefined)
  t.end()
})

t.test(
  'one whose zone this Node.js does not know skips its time, calls somebody, and goes on where it is known',
  (t) => {
    const { snapshot, sends, facts } = step(module, zoned(created), M.fall_due)
    t.same(sends, [])
    t.match(facts, [{ type: 'sentinel_skipped', payload: { due_at: DUE, skipped: 'unknown_time_zone' } }])
    t.notOk('next_at' in (facts[0] as any).payload)
    t.match(snapshot.context, { next_at: undefined, last: { skipped: 'unknown_time_zone' } })
    t.match(module.terms(snapshot).at(-1), { index: 'attention', value: 'unscheduled' })
    t.equal(step(module, snapshot, M.reckon).repeat, 'unchanged')
    t.equal(step(module, snapshot, M.fire).sends.length, 1, 'by hand it submits all the same')
    const late = step(module, zoned(created), M['fall_due (too late)'])
    t.equal(late.snapshot.context.last.skipped, 'unknown_time_zone', 'also if it is late')
    const known = { ...snapshot, context: { ...snapshot.context, time_zone: 'UTC' } }
    const going = step(module, known, { ...M.reckon, atMs: Date.parse(DUE) + 1 })
    t.equal(Date.parse(going.snapshot.context.next_at), Date.parse(DUE) + 86_400_000)
    t.notOk(module.terms(going.snapshot).some(({ index }) => index === 'attention'))
    const moved = step(module, snapshot, at(8, { type: 'update', time_zone: 'UTC' }))
    t.equal(moved.snapshot.context.next_at, DUE)
    t.equal(step(module, zoned(paused), M.resume).refused, 'illegal_move')
    t.end()
  },
)

t.test('what older versions have stored is taken as it is', (t) => {
  for (const version of [1, 2]) t.equal(module.migrations[version]!(created), created)
  t.end()
})

t.test('one that is added again under its name knows nothing of the one before', (t) => {
  const again = after(module, [M.create, due(), M.pause, M.remove, { ...M.create, idempotency_key: 'key-3' }])
  const { last, updated_at, fired } = module.document(reopened(module, again)) as any
  t.same([last, updated_at, fired], [undefined, undefined, 0])
  t.equal(again.context.internal.recent, undefined)
  t.end()
})

t.test('its documents satisfy their schema', (t) => {
  const check = compile(sentinelDocument)
  const snapshots = [created, paused, removed]
  for (const name of ['fall_due', 'fall_due (duplicate)', 'fall_due (too late)', 'fire'] as const)
    snapshots.push(step(module, created, M[name]).snapshot)
  for (const snapshot of snapshots) t.strictSame(check(module.document(reopened(module, snapshot))), [])
  t.end()
})

t.test('the next time lies ahead, and none that matches lies between', (t) => {
  const minute = fc.integer({ min: 0, max: 59 })
  const hour = fc.integer({ min: 0, max: 23 })
  const from = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2030, 0, 1) })
  fc.assert(
    fc.property(minute, hour, from, (m, h, afterMs) => {
      const next = Date.parse(nextDue(`${m} ${h} * * *`, 'UTC', afterMs)!)
      const day = new Date(next)
      return next > afterMs && next - afterMs <= 86_400_000 && day.getUTCMinutes() === m && day.getUTCHours() === h
    }),
  )
  for (const never of ['0 0 30 2 *', '0 0 31 2,4,6,9,11 *', '* * 31 4,6,9,11 +MON'])
    t.equal(nextDue(never, 'UTC', 0), undefined, `${never}: no such day`)
  for (let year = 2060; year < 2100; year++)
    for (let day = 0; day < 7; day++) if (nextDue(`0 0 29 2 +${day}`, 'UTC', Date.UTC(year, 0)) === undefined) t.fail()
  t.end()
})

t.test('where clocks change, a time that is left out comes later, and one that comes twice counts once', (t) => {
  const next = (cron: string, zone: string, from: string) => nextDue(cron, zone, Date.parse(from))
  t.equal(next('30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00:00Z'), '2026-03-29T01:30:00.000Z')
  t.equal(next('30 2 * * *', 'Europe/Berlin', '2026-03-29T01:30:00Z'), '2026-03-30T00:30:00.000Z')
  t.equal(next('30 1 * * *', 'America/New_York', '2026-10-31T12:00:00Z'), '2026-11-01T05:30:00.000Z')
  t.equal(next('30 1 * * *', 'America/New_York', '2026-11-01T05:30:00Z'), '2026-11-02T06:30:00.000Z')
  t.equal(next('0,30 2 * * *', 'Europe/Berlin', '2026-03-29T01:00:00Z'), '2026-03-29T01:30:00.000Z')
  t.equal(next('0 0 * * *', 'Africa/Cairo', '2026-04-23T12:00:00Z'), '2026-04-23T22:00:00.000Z', 'at midnight')
  t.equal(next('30 2 * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z'), '2026-10-26T01:30:00.000Z', 'not the past')
  t.equal(next('*/15 * * * *', 'Europe/Berlin', '2026-10-25T01:10:00Z'), '2026-10-25T02:00:00.000Z')
  t.equal(next('0 1 * * *', 'Antarctica/Troll', '2026-10-24T20:00:00Z'), '2026-10-24T23:00:00.000Z', 'two hours twice')
  t.end()
})

t.test('in every zone it is the next time at which the clocks first show what the pattern says', (t) => {
  /** Hours in which these set their clocks back, and zones that are not ahead by whole hours. */
  const turns = {
    'Europe/Berlin': '2026-10-25T01:00Z',
    'America/St_Johns': '2026-11-01T04:30Z',
    'Australia/Lord_Howe': '2026-04-04T15:00Z',
    'Pacific/Chatham': '2026-04-04T14:00Z',
    'Asia/Kathmandu': '2026-06-01T00:00Z',
    'Pacific/Apia': '2026-06-01T00:00Z',
  }
  const shown = (zone: string, ms: number): string =>
    new Date(ms).toLocaleString('sv-SE', { timeZone: zone, dateStyle: 'short', timeStyle: 'short' })
  const MINUTE = 60_000
  /** By a look at every minute. */
  const expected = (zone: string, minute: number, hour: number, afterMs: number): number => {
    const seen = new Set<string>()
    for (let ms = Math.floor(afterMs / MINUTE - 180) * MINUTE; ; ms += MINUTE) {
      const face = shown(zone, ms)
      const isFirst = !seen.has(face)
      seen.add(face)
      const [hours, minutes] = face.slice(-5).split(':').map(Number)
      if (ms > afterMs && isFirst && hours! % 3 === hour % 3 && minutes! % 20 === minute % 20) return ms
    }
  }
  fc.assert(
    fc.property(
      fc.constantFrom(...Object.entries(turns)),
      fc.nat(19),
      fc.nat(2),
      fc.integer({ min: -150, max: 150 }),
      fc.nat(59_999),
      ([zone, turn], minute, hour, minutes, ms) => {
        const afterMs = Date.parse(turn) + minutes * MINUTE + ms
        const hours = Array.from({ length: 8 }, (_, i) => i * 3 + hour).join()
        const due = Date.parse(nextDue(`${minute},${minute + 20},${minute + 40} ${hours} * * *`, zone, afterMs)!)
        return due === expected(zone, minute, hour, afterMs)
      },
    ),
  )
  t.end()
})

t.test('in whatever order a pattern is asked about, each time has its own answer', (t) => {
  const periodMs = 20 * 60_000
  const times = fc.array(fc.integer({ min: 0, max: 5 * periodMs }), { minLength: 2, maxLength: 20 })
  const next = (ms: number) => Date.parse(nextDue('*/20 * * * *', 'UTC', ms)!)
  const expected = (ms: number) => (Math.floor(ms / periodMs) + 1) * periodMs
  const isRight = (ms: number): boolean => next(ms) === expected(ms)
  const edges = [periodMs, periodMs - 1, periodMs + 1, 2 * periodMs, 0, periodMs]
  t.ok(edges.every(isRight), 'at the edges')
  fc.assert(fc.property(times, (asked) => asked.every(isRight)))
  t.equal(nextDue('*/20 * * * *', 'Asia/Kathmandu', 0), '1970-01-01T00:10:00.000Z', 'each zone has its own')
  t.end()
})
