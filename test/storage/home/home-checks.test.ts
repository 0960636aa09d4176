import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t, { type Test } from 'tap'
import { asHomeRefused } from '../../../storage/home/home-checks.ts'
import { environmentPaths, segmentPath } from '../../../storage/home/home-paths.ts'
import { SCHEMA_VERSION } from '../../../storage/home/written-by.ts'
import type { EventPage } from '../../../storage/journal.ts'
import { verify, verifyHome } from '../../../storage/verify/verify.ts'
import { failing, systemError } from '../../failing-files.ts'
import { flipInEvents, rewriteLog } from '../log-surgery.ts'
import { openIn } from '../open.ts'
import { AT, append, appendEvents, changeTo, event, state, step } from '../steps.ts'

/** Changes the head of a closed home's log behind the journal's back. */
const tamper = (home: string, head: Record<string, string>) =>
  rewriteLog(home, (content) => Object.assign(content.head, head))

let homes = 0
const newHome = (t: Test) => join(t.testdir(), `home${homes++}`)

t.test('an older or newer schema is refused with advice, and no view is created', async (t) => {
  for (const [schema, advice] of [
    ['0', /older version of Intendant .*: export its events/],
    [String(SCHEMA_VERSION + 1), /newer version of Intendant/],
  ] as const) {
    const home = newHome(t)
    mkdirSync(join(home, 'log'), { recursive: true })
    tamper(home, { schema })
    await t.rejects(openIn(t, home), { name: 'HomeRefused', code: 'schema_version', message: advice })
    t.notOk(existsSync(join(home, 'view', 'data.mdb')))
  }
})

t.test('a view ahead of its log, or of another log, is refused', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1), step('b', 1))
  await journal.close()
  tamper(home, { last: '0 0' })
  await t.rejects(openIn(t, home), { code: 'view_ahead' })
  tamper(home, { epoch: 'otherepoch00' })
  await t.rejects(openIn(t, home), { code: 'view_of_another_log' })
})

t.test("the view of a copied home that went on separately is refused beside the other home's log", async (t) => {
  const [one, other] = [newHome(t), newHome(t)]
  const journal = await openIn(t, one)
  await appendEvents(journal, event('1'))
  await journal.close()
  cpSync(one, other, { recursive: true })
  for (const [home, name] of [
    [one, 'here'],
    [other, 'there'],
  ] as const) {
    const copy = await openIn(t, home)
    await appendEvents(copy, event(name))
    await copy.close()
  }
  rmSync(join(one, 'view'), { recursive: true })
  cpSync(join(other, 'view'), join(one, 'view'), { recursive: true })
  await t.rejects(openIn(t, one), { code: 'view_of_another_log', message: /event 2 of .* is not in it/ })
  t.equal((await openIn(t, other)).lastSequence, 2)
})

t.test("a view that lacks a table is refused with the table's name, and the table is not created", async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  const file = join(home, 'view', 'data.mdb')
  const sound = readFileSync(file)
  for (const name of ['snapshots', 'entities', 'idempotency']) {
    const bytes = Buffer.from(sound)
    // The name stands in the newest page that lists the tables, and in older ones.
    for (let at = bytes.indexOf(name); at >= 0; at = bytes.indexOf(name, at + 1)) bytes[at + 1]! ^= 2
    writeFileSync(file, bytes)
    const message = new RegExp(`it has no table ${name}\\): put it back, or restore a backup`)
    await t.rejects(openIn(t, home), { code: 'corrupt', message })
    t.match((await verifyHome(home)).findings, [{ detail: message }])
    t.ok(readFileSync(file).equals(bytes))
  }
})

t.test('the marker of an unfinished log is refused when the log holds commits', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  writeFileSync(join(home, 'log', 'creating'), '')
  const message = /log\/creating says that this log was never completed, but it contains commits/
  await t.rejects(openIn(t, home), { code: 'corrupt', message })
  t.match((await verifyHome(home)).findings, [{ detail: message }])
  rmSync(join(home, 'log', 'creating'))
  const again = await openIn(t, home)
  t.ok(again.actor('run_request', 'a'))
})

t.test('a lock file that cannot be opened is reported, and does not kill the process', async (t) => {
  const home = newHome(t)
  await (await openIn(t, home)).close()
  rmSync(join(home, 'view', 'lock.mdb'))
  mkdirSync(join(home, 'view', 'lock.mdb'))
  await t.rejects(openIn(t, home), { code: 'EISDIR', message: /lock\.mdb/ })
})

t.test('a log whose redo does not reach back to the view is refused', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  tamper(home, { last: '3 0' })
  await t.rejects(openIn(t, home), { code: 'redo_missing' })
})

t.test('a flipped byte in an event is reported when that event is read', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  for (const name of ['1', '2', '3']) await appendEvents(journal, event(name))
  await journal.settled()
  // While it is open: a start looks through the newest file and refuses it.
  flipInEvents(home, 2, 20)
  const again = journal
  const sequences = ({ events }: EventPage) => events.map(({ sequence }) => sequence)
  t.same(sequences(again.events(0, 10, 1e6)), [1], 'events before it are served')
  t.throws(() => again.events(1, 10, 1e6), { name: 'CorruptRow', message: /event 2 / })
  t.same(sequences(again.eventsBackward(4, 10, 1e6)), [3], 'and events after it')
  t.throws(() => again.eventsBackward(3, 10, 1e6), { name: 'CorruptRow', message: /event 2 / })
  t.throws(() => again.event(2), { name: 'CorruptRow', message: /event 2 / })
  t.equal(again.event(3), event('3').text)
  await again.close()
  await t.rejects(openIn(t, home), { code: 'corrupt', message: /segment is damaged .*restore a backup/ })
})

t.test(
  'under the disk reserve writes are refused and reads go on, and writes resume once there is space',
  async (t) => {
    const home = newHome(t)
    let free = 1_000
    const journal = await openIn(t, home, { diskReserveBytes: 500, freeBytes: async () => free })
    await append(journal, step('a', 1))
    t.equal(journal.refuses(), undefined)
    free = 499
    await journal.disk.check()
    t.equal(journal.refuses(), 'disk_reserve')
    t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
    free = 500
    await journal.disk.check()
    t.equal(journal.refuses(), undefined)
  },
)

t.test(
  'opened under the reserve the journal stays read-only until it is opened again, and a new home is refused',
  async (t) => {
    const home = newHome(t)
    const low = { diskReserveBytes: 500, freeBytes: async () => 499 }
    await t.rejects(openIn(t, home, low), { code: 'disk_reserve' })
    t.same(readdirSync(home), [])
    const first = await openIn(t, home)
    await append(first, step('a', 1, { termsAdded: [state('queued')] }))
    await first.close()
    const journal = await openIn(t, home, low)
    t.equal(journal.refuses(), 'read_only')
    await t.rejects(append(journal, step('b', 1)), { name: 'JournalFailure' })
    await t.rejects(journal.trim({ beforeSequence: 2 }), { name: 'JournalFailure' })
    t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
    const rows = (
      await journal.list({ kind: 'run_request', index: 'state', value: 'queued', limit: 5, reverse: false })
    ).rows
    t.equal(rows.length, 1)
    await journal.close()
    t.equal((await append(await openIn(t, home), step('b', 1))).batch, 2)
  },
)

t.test(
  'opened under the reserve with 64 MiB free, retention works, and writes resume once it has made room',
  async (t) => {
    const MIB = 1024 * 1024
    const home = newHome(t)
    let free = 1e12
    const reserve = { diskReserveBytes: 100 * MIB, freeBytes: async () => free }
    const first = await openIn(t, home, reserve)
    await append(first, step('a', 1, { events: [event('1')] }))
    await first.close()
    free = 64 * MIB
    const journal = await openIn(t, home, reserve)
    t.equal(journal.refuses(), 'disk_reserve')
    t.same(await journal.trim({ beforeSequence: 2 }), { removed: 1, more: false })
    free = 100 * MIB
    await journal.disk.check()
    t.equal(journal.refuses(), undefined)
    t.equal((await append(journal, step('a', 2))).batch, 2)
    await journal.settled()
    t.same((await verify(journal.environments)).findings, [])
    await journal.close()
    free = 64 * MIB
    const behind = await openIn(t, home, reserve)
    behind.stayReadOnly()
    free = 100 * MIB
    await behind.disk.check()
    t.equal(behind.refuses(), 'read_only')
    await t.rejects(append(behind, step('b', 1)), { name: 'JournalFailure' })
  },
)

t.test(
  'a redo change that does not follow the record before it is refused with advice, and verify reports it',
  async (t) => {
    const root = t.testdir()
    for (const [ids, told] of [
      [['a', 'a'], /redo of batch 4 does not follow .*version 3 does not follow version 3.*restore a backup/],
      [['b', 'c'], /redo of batch 4 does not follow .*run_request c, which does not exist.*restore a backup/],
    ] as const) {
      const home = join(root, ids[1])
      const journal = await openIn(t, home)
      await append(journal, step('a', 1), step('b', 1))
      await journal.settled()
      const letGo = journal.holdView(new Promise<void>((resolve) => setTimeout(resolve, 50)))
      await append(journal, step(ids[0], 2, { change: changeTo(2) }))
      await append(journal, step(ids[0], 3, { change: changeTo(3) }))
      await append(journal, step(ids[1], 3, { change: changeTo(3) }))
      // As a kill would leave it: copied while the view is behind.
      const copy = join(root, `copy-${ids[1]}`)
      cpSync(home, copy, { recursive: true })
      await letGo
      await t.rejects(openIn(t, copy), { name: 'HomeRefused', code: 'corrupt', message: told })
      const { findings } = await verifyHome(copy)
      t.match(findings, [
        { code: 'redo_wrong', where: 'redo of batch 4', detail: `makes version 3 of run_request ${ids[1]}` },
      ])
    }
  },
)

t.test('a read-only journal includes batches that the view lacks in its lists and scans', async (t) => {
  const root = t.testdir()
  const home = join(root, 'home')
  const journal = await openIn(t, home)
  await append(
    journal,
    step('a', 1, { termsAdded: [state('queued')] }),
    step('b', 1, { termsAdded: [state('queued')] }),
  )
  await journal.settled()
  const letGo = journal.holdView(new Promise<void>((resolve) => setTimeout(resolve, 50)))
  const moved = { termsRemoved: [state('queued')], termsAdded: [state('offered')] }
  await append(
    journal,
    step('a', 2, { ...moved, events: [event('1')] }),
    step('c', 1, { termsAdded: [state('queued')] }),
  )
  await append(journal, step('b', 2))
  // As a kill would leave it: copied while the view is behind.
  const copy = join(root, 'copy')
  cpSync(home, copy, { recursive: true })
  await letGo
  const room = 64 * 1024 * 1024
  const reader = await openIn(t, copy, { diskReserveBytes: room + 1, freeBytes: async () => room })
  t.equal(reader.refuses(), 'read_only')
  t.equal(reader.applied.batch, 1)
  const query = { kind: 'run_request', index: 'state', value: 'queued', limit: 5, reverse: false }
  const page = await reader.list(query)
  t.same(page, {
    rows: [
      { id: 'b', order: AT, record: step('b', 2).record },
      { id: 'c', order: AT, record: step('c', 1).record },
    ],
    more: false,
    sequence: 1,
  })
  t.match(await reader.list({ ...query, limit: 1 }), { rows: [{ id: 'b' }], more: true })
  t.match(await reader.list({ ...query, limit: 1, after: { order: AT, id: 'b' } }), {
    rows: [{ id: 'c' }],
    more: false,
  })
  t.match(await reader.list({ ...query, reverse: true, limit: 1 }), { rows: [{ id: 'c' }], more: true })
  t.same(
    [...reader.scan('run_request', 'state', 'offered')].map(({ id }) => id),
    ['a'],
  )
  t.same(
    [...reader.scanIndex('run_request', 'state')],
    [
      { value: 'queued', order: AT, id: 'b' },
      { value: 'offered', order: AT, id: 'a' },
      { value: 'queued', order: AT, id: 'c' },
    ],
    'rows that the view lacks come last',
  )
})

t.test('a removed view, and a damaged head or marker, are refused with advice', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  for (let i = 1; i <= 3; i += 1) await append(journal, step(`a${i}`, 1))
  await journal.close()
  const view = open({ path: join(home, 'view'), overlappingSync: false, maxDbs: 16 })
  await view.openDB('marker', { encoding: 'string' }).put('marker', '{"epo')
  await view.close()
  await t.rejects(openIn(t, home), { code: 'corrupt', message: /restore a backup/ })
  rmSync(join(home, 'view'), { recursive: true })
  await t.rejects(openIn(t, home), {
    code: 'redo_missing',
    message: /was removed.*put the view back, or restore a backup/,
  })
  writeFileSync(segmentPath(join(home, 'log'), 1), 'x'.repeat(100_000))
  await t.rejects(openIn(t, home), { code: 'corrupt', message: /restore a backup/ })
})

t.test(
  'after a retention step cut short before its rows were deleted, they stay hidden and the next step deletes them',
  async (t) => {
    const home = newHome(t)
    const journal = await openIn(t, home)
    const made = Array.from({ length: 5 }, (_, i) => event(`${i + 1}`, { traceId: 't' }))
    for (const each of made) await appendEvents(journal, each)
    await journal.close()
    tamper(home, { floor: '3' })
    const again = await openIn(t, home)
    const sequences = (page: { events: readonly { sequence: number }[] }) => page.events.map(({ sequence }) => sequence)
    t.same(sequences(again.events(0, 10, 1e6)), [3, 4, 5])
    t.same(sequences(again.eventsBackward(6, 10, 1e6)), [5, 4, 3])
    t.equal(again.event(2), undefined)
    t.same(again.history('trace', 't', 0, 10), [3, 4, 5])
    t.equal(again.eventSequence('demo', 't', made[0]!.id), undefined)
    t.same((await verify(again.environments)).findings, [])
    t.same(await again.trim({ beforeSequence: 0 }), { removed: 2, more: true })
    t.same(await again.trim({ beforeSequence: 4 }), { removed: 1, more: false })
    t.same([...again.environments.log.events.getKeys()], [4, 5])
    t.equal([...again.environments.view.eventIds.getKeys()].length, 2)
  },
)

t.test('events below a floor within a row are hidden, and the row goes with its last event', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  const made = Array.from({ length: 40 }, (_, i) => event(`${i + 1}`, { traceId: 't' }))
  await appendEvents(journal, ...made)
  t.same([...journal.environments.log.events.getKeys()], [1, 17, 33], 'sixteen events a row')
  await journal.close()
  tamper(home, { floor: '20' })
  const again = await openIn(t, home)
  const sequences = (page: { events: readonly { sequence: number }[] }) => page.events.map(({ sequence }) => sequence)
  t.same(sequences(again.events(0, 3, 1e6)), [20, 21, 22])
  t.same(sequences(again.events(31, 3, 1e6)), [32, 33, 34])
  t.same(sequences(again.eventsBackward(34, 3, 1e6)), [33, 32, 31])
  t.same(sequences(again.eventsBackward(22, 9, 1e6)), [21, 20])
  t.same(
    [again.event(19), again.event(20), again.event(40), again.event(41)],
    [undefined, made[19]!.text, made[39]!.text, undefined],
  )
  t.same((await verify(again.environments)).findings, [])
  t.same(await again.trim({ beforeSequence: 0 }), { removed: 16, more: true }, 'the row that the cut-short step left')
  t.same(await again.trim({ beforeSequence: 21 }), { removed: 1, more: false })
  t.same([...again.environments.log.events.getKeys()], [17, 33])
  t.equal([...again.environments.view.eventIds.getKeys()].length, 20, 'no id of a removed event')
  t.same(await again.trim({ beforeSequence: 41 }), { removed: 20, more: false })
  t.same([...again.environments.log.events.getKeys()], [])
  await appendEvents(again, event('41'))
  t.same(sequences(again.events(0, 3, 1e6)), [41])
  t.same((await verify(again.environments)).findings, [])
})

t.test('names with control characters keep their histories, lists and ids apart, whatever their length', async (t) => {
  const journal = await openIn(t, newHome(t))
  const names = [
    '\u0000',
    '\u0000'.repeat(120),
    `${'a'.repeat(70)}\u0002b`,
    `${'a'.repeat(70)}\u0003b`,
    '\u001b',
    '\ud800',
    '',
  ]
  let sequence = 0
  for (const name of names) {
    const labelled = [{ index: 'label', value: name, order: AT }]
    await append(
      journal,
      step(`x${sequence}`, 1, {
        termsAdded: labelled,
        events: [event(`${++sequence}`, { traceId: name, itemId: name })],
      }),
    )
  }
  await journal.settled()
  for (const [i, name] of names.entries()) {
    t.same(journal.history('trace', name, 0, 10), [i + 1])
    t.same(journal.history('item', name, 0, 10), [i + 1])
    t.equal(journal.count('run_request', 'label', name), 1)
  }
  t.same((await verify(journal.environments)).findings, [])
  await t.rejects(async () => append(journal, step('a\u0001', 1)), { name: 'RangeError' })
})

t.test('a home whose creation was cut short is created again, whatever is there of it', async (t) => {
  const home = newHome(t)
  for (const part of ['log', 'view']) {
    mkdirSync(join(home, part), { recursive: true })
    writeFileSync(join(home, part, 'creating'), '')
    writeFileSync(join(home, part, 'data.mdb'), Buffer.alloc(12_288))
  }
  const journal = await openIn(t, home)
  t.equal((await append(journal, step('a', 1))).batch, 1)
  await journal.close()
  for (const part of ['log', 'view']) t.notOk(existsSync(join(home, part, 'creating')))
  const again = await openIn(t, home)
  t.equal(again.actor('run_request', 'a'), step('a', 1).record)
  await again.close()
  // A log that is created again takes with it the view that was made beside it.
  writeFileSync(join(home, 'log', 'creating'), '')
  writeFileSync(segmentPath(join(home, 'log'), 1), '')
  t.equal((await append(await openIn(t, home), step('b', 1))).batch, 1)
})

t.test('a removed or emptied log is refused, and no new one is created', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  const file = segmentPath(join(home, 'log'), 1)
  const sound = readFileSync(file)
  writeFileSync(file, '')
  await t.rejects(openIn(t, home), { code: 'corrupt', message: /put it back, or restore a backup/ })
  rmSync(file)
  await t.rejects(openIn(t, home), { code: 'log_missing', message: /put the log back, or restore a backup/ })
  rmSync(join(home, 'log'), { recursive: true })
  await t.rejects(openIn(t, home), { code: 'log_missing' })
  t.notOk(existsSync(join(home, 'log')))
  mkdirSync(join(home, 'log'))
  writeFileSync(file, sound)
  t.equal((await openIn(t, home)).actor('run_request', 'a'), step('a', 1).record)
})

t.test(
  'files that this user may not open are refused with the owner that they need, for errors of Node.js and of LMDB',
  (t) => {
    const user = `\\(id ${process.getuid?.()}\\) must own it.*\\(chown -R\\)`
    for (const code of ['EACCES', 'EPERM', 13, 1]) {
      const told = asHomeRefused('/h', Object.assign(new Error('permission denied, /h/view'), { code }))
      t.match(told, { name: 'HomeRefused', code: 'not_permitted', message: new RegExp(`^/h .*${user}`) })
    }
    const named = Object.assign(new Error('permission denied'), { code: 'EACCES', path: '/h/log/1.segment' })
    t.match(
      asHomeRefused('/h', named),
      { message: /^\/h\/log\/1\.segment cannot be opened/ },
      'the path is named where it is known',
    )
    t.end()
  },
)

t.test('a home that this user may not read is not reported as damaged, nor as none', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  const { log, view } = environmentPaths(home)
  for (const [call, there] of [
    ['readdirSync', log],
    ['openSync', segmentPath(log, 1)],
    ['openSync', join(view, 'data.mdb')],
    ['statSync', log],
  ] as const) {
    const heal = failing(t, call, (path) => (path === there ? 'EACCES' : undefined))
    await t.rejects(verifyHome(home), { name: 'HomeRefused', code: 'not_permitted' }, `${call} ${there}`)
    heal()
  }
  t.same((await verifyHome(home)).findings, [])
})

t.test('a disk that is full or read-only is told apart from one that fails', (t) => {
  for (const [code, advice] of [
    ['ENOSPC', /: free some space \(or files, if `df -i` shows none free\) and start again/],
    ['EDQUOT', /\(EDQUOT \(UNKNOWN: write\)\): free some space, or raise the quota, and start again/],
    ['EROFS', /: make it writable .*ReadWritePaths/],
    ['EIO', /: repair the disk and start again/],
  ] as const) {
    const told = asHomeRefused('/h', systemError(code, 'write'))
    t.match(told, { code: 'disk_failed', message: advice })
  }
  t.end()
})
