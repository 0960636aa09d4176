import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { open } from 'lmdb'
import t, { type Test } from 'tap'
import { checkedText } from '../../storage/checked-text.ts'
import type { JournalFailure } from '../../storage/journal.ts'
import { type LmdbJournal, openLmdbJournal } from '../../storage/lmdb-journal.ts'
import { journalContract } from './contract.ts'
import { append, appendEvents, event, state, step } from './steps.ts'

const PLENTY = async () => 1e12
const CHECKED = { cache: false, encoder: checkedText }

async function openIn(
  t: Test,
  home: string,
  rest: Partial<Parameters<typeof openLmdbJournal>[0]> = {},
): Promise<LmdbJournal> {
  const onFailure = (failure: JournalFailure) => t.fail(`unexpected failure: ${failure.message}`)
  const journal = await openLmdbJournal({ home, diskReserveBytes: 1, freeBytes: PLENTY, onFailure, ...rest })
  t.teardown(() => journal.close())
  return journal
}

/** Changes a closed home's log behind the journal's back. */
async function tamper(home: string, change: (open: (name: string) => any) => void): Promise<void> {
  const env = open({ path: join(home, 'log'), overlappingSync: false, maxDbs: 16 })
  change((name) => env.openDB(name, CHECKED))
  await env.close()
}

let homes = 0
const newHome = (t: Test) => join(t.testdir(), `home${homes++}`)

t.test('the contract', (t) => {
  const root = t.testdir()
  journalContract(t, (t) => openIn(t, join(root, `home${homes++}`)))
  t.end()
})

t.test('what was acknowledged is there after a close, and nothing is left to redo', async (t) => {
  const home = newHome(t)
  const first = await openIn(t, home)
  const timer = { name: 'x', dueMs: 5, generation: 1, message: { type: 'x' } }
  const outbox = [{ n: 1, toKind: 'runner', toId: 'r', message: { type: 'm' } }]
  const events = [event('1', { traceId: 't' })]
  await append(first, step('a', 1, { termsAdded: [state('queued')], events, timersSet: [timer], outbox }))
  const { epoch } = first
  await first.close()
  const second = await openIn(t, home)
  t.equal(second.epoch, epoch)
  t.equal(second.lastSequence, 1)
  t.equal(second.actor('run_request', 'a'), step('a', 1).record)
  t.equal(second.count('run_request', 'state', 'queued'), 1)
  t.same(second.history('trace', 't', 0, 10), [1])
  t.equal(second.timers(0, 10, 10).length, 1)
  t.equal([...second.outbox()].length, 1)
  t.equal([...second.environments.log.redo.getKeys()].length, 0)
  t.equal((await append(second, step('a', 2))).batch, 2)
})

t.test('redo rows go with later commits, once the view holds their batches', async (t) => {
  const journal = await openIn(t, newHome(t))
  for (let i = 0; i < 20; i += 1) await append(journal, step(`a${i}`, 1))
  t.ok([...journal.environments.log.redo.getKeys()].length >= 1)
  await journal.settled()
  await append(journal, step('b', 1))
  t.same([...journal.environments.log.redo.getKeys()], [21])
})

t.test('a failed append leaves nothing visible, tells once, and the journal takes no more', async (t) => {
  const failures: JournalFailure[] = []
  const journal = await openIn(t, newHome(t), { onFailure: (failure) => failures.push(failure) })
  await append(journal, step('a', 1, { events: [event('1')] }))
  // A foreign writer moves the head: the fence finds it inside the transaction, after which nothing may remain.
  const { log } = journal.environments
  log.env.transactionSync(() => {
    log.head.put('last', '7 7')
  })
  await t.rejects(append(journal, step('a', 2, { events: [event('2')] })), {
    message: /another process wrote this log/,
  })
  await t.rejects(append(journal, step('b', 1)), { name: 'JournalFailure' })
  t.equal(failures.length, 1)
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  t.equal(journal.event(2), undefined)
  t.equal(journal.lastSequence, 1)
  t.equal(journal.refuses(), 'read_only')
})

t.test('a throw inside the transaction rolls back the rows put before it', async (t) => {
  const journal = await openIn(t, newHome(t), { onFailure: () => {} })
  const poison = Object.defineProperty({ ...event('1') }, 'text', {
    get: () => {
      throw new Error('poison')
    },
  })
  const steps = [step('a', 1, { events: [event('0')] }), step('b', 1, { events: [poison] })]
  await t.rejects(append(journal, ...steps), { message: /poison/ })
  t.equal(journal.event(1), undefined)
  t.same([...journal.environments.log.events.getKeys()], [])
})

t.test('a view that cannot be written is a failed commit', async (t) => {
  const failures: JournalFailure[] = []
  const journal = await openIn(t, newHome(t), { onFailure: (failure) => failures.push(failure) })
  await journal.environments.view.env.close()
  await append(journal, step('a', 1))
  await t.rejects(journal.settled(), { name: 'JournalFailure' })
  await t.rejects(append(journal, step('b', 1)), { name: 'JournalFailure' })
  t.match(failures, [{ message: /the view could not be written/ }])
  t.equal(failures.length, 1)
})

t.test('a second opener is refused, is told who holds the home, and changes no byte', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await t.rejects(openIn(t, home), {
    name: 'HomeRefused',
    code: 'locked',
    message: new RegExp(`process ${process.pid}`),
  })
  t.equal((await append(journal, step('a', 2))).batch, 2)
  await journal.close()
  t.equal((await openIn(t, home)).actor('run_request', 'a'), step('a', 2).record)
})

t.test('an older and a newer schema are refused with the way out, and nothing is made beside them', async (t) => {
  for (const [schema, advice] of [
    ['0', /older version: export its events/],
    ['2', /newer version of Intendant/],
  ] as const) {
    const home = newHome(t)
    mkdirSync(join(home, 'log'), { recursive: true })
    await tamper(home, (database) => database('head').putSync('schema', schema))
    await t.rejects(openIn(t, home), { name: 'HomeRefused', code: 'schema_version', message: advice })
    t.notOk(existsSync(join(home, 'view', 'data.mdb')))
  }
})

t.test('a view ahead of its log, and a view of another log, are refused', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1), step('b', 1))
  await journal.close()
  await tamper(home, (database) => database('head').putSync('last', '0 0'))
  await t.rejects(openIn(t, home), { code: 'view_ahead' })
  await tamper(home, (database) => database('head').putSync('epoch', 'otherepoch00'))
  await t.rejects(openIn(t, home), { code: 'view_of_another_log' })
})

t.test('a log whose redo does not reach back to the view is refused', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1))
  await journal.close()
  await tamper(home, (database) => database('head').putSync('last', '3 0'))
  await t.rejects(openIn(t, home), { code: 'redo_missing' })
})

t.test('a flipped byte in an event is found when it is read, and is named', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await appendEvents(journal, event('1'), event('2'), event('3'))
  const raw = journal.environments.log.events.getBinary(2)!
  raw[20]! ^= 1
  await journal.close()
  await tamper(home, (database) => database('events').putSync(2, { '\x10binary-data\x02': raw }))
  const again = await openIn(t, home)
  t.throws(() => again.events(0, 10, 1e6), { name: 'CorruptRow', message: /event 2 / })
  t.throws(() => again.eventsBackward(4, 10), { name: 'CorruptRow', message: /event 2 / })
  t.throws(() => again.event(2), { name: 'CorruptRow', message: /event 2 / })
  t.equal(again.event(3), event('3').text)
})

t.test('under the disk reserve writes are refused and reads go on; with space they go on too', async (t) => {
  const home = newHome(t)
  let free = 1_000
  const journal = await openIn(t, home, { diskReserveBytes: 500, freeBytes: async () => free })
  await append(journal, step('a', 1))
  t.equal(journal.refuses(), undefined)
  free = 499
  await journal.checkDisk()
  t.equal(journal.refuses(), 'disk_reserve')
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  free = 500
  await journal.checkDisk()
  t.equal(journal.refuses(), undefined)
})

t.test(
  'opened under the reserve the journal is read-only until it is opened again; a new home is refused',
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

t.test('a view that does not catch up in 250 ms makes a list fail with ViewBehind, not wait for ever', async (t) => {
  const journal = await openIn(t, newHome(t))
  let letGo = () => {}
  const held = journal.holdView(
    new Promise<void>((resolve) => {
      letGo = resolve
    }),
  )
  await append(journal, step('a', 1, { termsAdded: [state('queued')] }))
  const query = { kind: 'run_request', index: 'state', value: 'queued', limit: 5, reverse: false }
  await t.rejects(journal.list(query), { name: 'ViewBehind' })
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  letGo()
  await held
  t.equal((await journal.list(query)).rows.length, 1)
})

t.test('past the backlog bound appends are told to wait, and are called when there is room', async (t) => {
  const journal = await openIn(t, newHome(t))
  let letGo = () => {}
  journal.holdView(
    new Promise<void>((resolve) => {
      letGo = resolve
    }),
  )
  t.equal(
    journal.waitForRoom(() => t.fail('not waiting')),
    false,
  )
  const events = Array.from({ length: 6_000 }, (_, i) => event(`${i}`))
  await appendEvents(journal, ...events)
  const resumed = new Promise<void>((resume) => t.equal(journal.waitForRoom(resume), true))
  letGo()
  await resumed
  t.equal(
    journal.waitForRoom(() => t.fail('not waiting')),
    false,
  )
})

t.test('retention never removes what the view does not hold yet', async (t) => {
  const journal = await openIn(t, newHome(t))
  await appendEvents(journal, event('1'))
  await journal.settled()
  let letGo = () => {}
  const held = journal.holdView(
    new Promise<void>((resolve) => {
      letGo = resolve
    }),
  )
  await appendEvents(journal, event('2'))
  const trimmed = journal.trim({ beforeSequence: 100 })
  letGo()
  await held
  t.equal((await trimmed).removed, 1)
  t.equal(journal.event(2), event('2').text)
})

t.test('a home holds nothing but the two environments', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  t.same(readdirSync(home).sort(), ['log', 'view'])
  await journal.close()
  writeFileSync(join(home, 'config.json'), '{}')
  await openIn(t, home)
})
