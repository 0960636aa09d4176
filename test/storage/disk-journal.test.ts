import { appendFileSync, cpSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { backup, restoreFiles } from '../../storage/copies/backup.ts'
import type { DiskJournal } from '../../storage/disk-journal.ts'
import type { Environments, Medium } from '../../storage/environments.ts'
import { folderMedium } from '../../storage/home/home-environments.ts'
import { segmentPath } from '../../storage/home/home-paths.ts'
import type { JournalFailure } from '../../storage/journal.ts'
import { RowForgetter } from '../../storage/retention/forgetter.ts'
import { verify } from '../../storage/verify/verify.ts'
import { View } from '../../storage/view/view.ts'
import { journalContract } from './contract.ts'
import { damage, FREELY, openIn } from './open.ts'
import { append, appendEvents, event, state, step } from './steps.ts'

let homes = 0
const newHome = (t: Test) => join(t.testdir(), `home${homes++}`)

t.test('the disk journal keeps the journal contract', (t) => {
  const root = t.testdir()
  journalContract(t, (t) => openIn(t, join(root, `home${homes++}`)))
  t.end()
})

t.test('acknowledged steps are there after a close, and no redo is left', async (t) => {
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

t.test('it tells how long each append took until it was on disk', async (t) => {
  const journal = await openIn(t, newHome(t))
  const tookMs: number[] = []
  journal.onFlush((ms) => tookMs.push(ms))
  const sinceMs = performance.now()
  await append(journal, step('a', 1))
  await append(journal, step('a', 2))
  t.equal(tookMs.length, 2)
  t.ok(Math.min(...tookMs) > 0 && tookMs[0]! + tookMs[1]! <= performance.now() - sinceMs, `${tookMs}`)
})

t.test('rows of removed events are deleted one step later, or by the next process', async (t) => {
  const home = newHome(t)
  const first = await openIn(t, home)
  const rowsOf = ({ environments }: DiskJournal) => [...environments.log.events.getKeys()]
  await appendEvents(first, ...Array.from({ length: 5_000 }, (_, i) => event(`${i}`, { traceId: `t${i % 7}` })))
  await first.settled()
  const rows = rowsOf(first)
  t.same(await first.trim({ beforeSequence: 4_500 }), { removed: 2_000, more: true })
  t.same(rowsOf(first), rows, 'cleared, but still there')
  t.same(await first.trim({ beforeSequence: 4_500 }), { removed: 2_000, more: true })
  const firstLeft = rowsOf(first)[0]!
  t.ok(firstLeft > 2_000 - 16 && firstLeft <= 2_001, `${firstLeft}`)
  await first.close()
  const second = await openIn(t, home)
  t.same(await second.trim({ beforeSequence: 4_500 }), {
    removed: rows.indexOf(4_001) * 16 + 1 - firstLeft,
    more: true,
  })
  t.same(await second.trim({ beforeSequence: 4_500 }), { removed: 499, more: false })
  t.same(rowsOf(second)[0], 4_497, 'a row that holds a later event stays')
  t.same(second.events(0, 1, 1e6).events[0]!.sequence, 4_500)
  t.same((await verify(second.environments)).findings, [])
})

t.test('redo rows are deleted with later commits once the view has their batches', async (t) => {
  const journal = await openIn(t, newHome(t))
  for (let i = 0; i < 20; i += 1) await append(journal, step(`a${i}`, 1))
  t.ok([...journal.environments.log.redo.getKeys()].length >= 1)
  await journal.settled()
  await append(journal, step('b', 1))
  t.same([...journal.environments.log.redo.getKeys()], [21])
})

t.test('a failed append leaves nothing visible, is reported once, and makes the journal read-only', async (t) => {
  const failures: JournalFailure[] = []
  const journal = await openIn(t, newHome(t), { onFailure: (failure) => failures.push(failure) })
  await append(journal, step('a', 1, { events: [event('1')] }))
  // Another writer: the file does not end where this journal wrote last.
  appendFileSync(segmentPath(join(journal.home, 'log'), 1), 'x')
  await t.rejects(append(journal, step('a', 2, { events: [event('2')] })), {
    message: /another process wrote to this log/,
  })
  await t.rejects(append(journal, step('b', 1)), { name: 'JournalFailure' })
  t.equal(failures.length, 1)
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  t.equal(journal.event(2), undefined)
  t.equal(journal.lastSequence, 1)
  t.equal(journal.refuses(), 'read_only')
})

t.test('an error thrown inside the transaction rolls back the rows put before it', async (t) => {
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

t.test('a view that cannot be written makes the journal fail', async (t) => {
  const failures: JournalFailure[] = []
  const journal = await openIn(t, newHome(t), { onFailure: (failure) => failures.push(failure) })
  await journal.environments.view.env.close()
  await append(journal, step('a', 1))
  await t.rejects(journal.settled(), { name: 'JournalFailure' })
  await t.rejects(append(journal, step('b', 1)), { name: 'JournalFailure' })
  t.match(failures, [{ message: /the view could not be written/ }])
  t.equal(failures.length, 1)
})

const viewWrites: Readonly<Record<string, (journal: DiskJournal) => Promise<unknown>>> = {
  'a fold': (journal) => append(journal, step('a', 2)).then(() => journal.settled()),
  retention: (journal) => journal.trim({ beforeSequence: 2 }),
  'a removal': (journal) => journal.removeEntities([{ kind: 'run_request', id: 'a', terms: [] }]),
}

for (const [what, write] of Object.entries(viewWrites)) {
  t.test(`${what} that cannot write the view fails the journal with the same message`, async (t) => {
    const failures: JournalFailure[] = []
    const home = newHome(t)
    let isBroken = false
    const failing = async (check: Parameters<Medium['open']>[0]): Promise<Environments> => {
      const { view, ...rest } = await folderMedium(home).open(check)
      const commit: typeof view.env.commit = async (write) => {
        if (isBroken) throw new Error('Input/output error')
        await view.env.commit(write)
      }
      const broken = { ...view, env: { ...view.env, commit } }
      return { ...rest, view: broken, forgetter: new RowForgetter(rest.log, new View(broken)) }
    }
    const medium = { ...folderMedium(home), open: failing }
    const journal = await openIn(t, home, { onFailure: (failure) => failures.push(failure), medium })
    await append(journal, step('a', 1, { events: [event('1')] }))
    await journal.settled()
    isBroken = true
    await t.rejects(write(journal), { name: 'JournalFailure' })
    t.match(failures, [{ message: 'the view could not be written: Input/output error' }])
    t.equal(failures.length, 1)
  })
}

t.test("a second opener is refused with the holder's process id, and changes nothing", async (t) => {
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

t.test('a start whose log another process writes, although the lock was free, is refused', async (t) => {
  const home = newHome(t)
  await (await openIn(t, home)).close()
  const folder = folderMedium(home)
  const open: Medium['open'] = async (check) => {
    const environments = await folder.open(check)
    appendFileSync(segmentPath(join(home, 'log'), 1), 'x')
    return environments
  }
  const words = /another process wrote to this log .* although the lock of its home was free: stop one of the two/
  await t.rejects(openIn(t, home, { medium: { ...folder, open } }), {
    name: 'HomeRefused',
    code: 'locked',
    message: words,
  })
})

t.test('a start that finds another writer during its sync is refused before it writes the view', async (t) => {
  const home = newHome(t)
  const first = await openIn(t, home)
  await append(first, step('a', 1))
  await first.close()
  const folder = folderMedium(home)
  let written = 0
  const open: Medium['open'] = async (check) => {
    const environments = await folder.open(check)
    const { env: log } = environments.log
    const { env: view } = environments.view
    const [sync, commit] = [log.sync.bind(log), view.commit.bind(view)]
    log.sync = () => {
      sync()
      appendFileSync(segmentPath(join(home, 'log'), 1), 'x')
    }
    view.commit = (write) => {
      written += 1
      return commit(write)
    }
    return environments
  }
  await t.rejects(openIn(t, home, { medium: { ...folder, open } }), { name: 'HomeRefused', code: 'locked' })
  t.equal(written, 0)
})

t.test('a list fails with ViewBehind when the view does not catch up in time, unless it waits', async (t) => {
  const journal = await openIn(t, newHome(t))
  let letGo = () => {}
  const held = journal.holdView(
    new Promise<void>((resolve) => {
      letGo = resolve
    }),
  )
  await append(journal, step('a', 1, { termsAdded: [state('queued')] }))
  const query = { kind: 'run_request', index: 'state', value: 'queued', limit: 5, reverse: false }
  const waiting = journal.list({ ...query, waits: true })
  await t.rejects(journal.list(query), { name: 'ViewBehind' })
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  letGo()
  await held
  t.equal((await waiting).rows.length, 1)
  t.equal((await journal.list(query)).rows.length, 1)
})

t.test('with too much backlog, waitForRoom makes the caller wait and resumes it when there is room', async (t) => {
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
  await append(journal, ...Array.from({ length: 40_000 }, (_, i) => step(`${i}`, 1)))
  const resumed = new Promise<void>((resume) => t.equal(journal.waitForRoom(resume), true))
  letGo()
  await resumed
  t.equal(
    journal.waitForRoom(() => t.fail('not waiting')),
    false,
  )
  // The backlog has started the thread that writes the view; it may still be opening its files when the folder is
  // removed.
  await journal.close()
})

t.test('retention does not remove events that the view does not have yet', async (t) => {
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

t.test('a read between the commit of a fold and the notice of it counts nothing twice', async (t) => {
  const journal = await openIn(t, newHome(t))
  const { env } = journal.environments.view
  const commit = env.commit.bind(env)
  let told = () => {}
  const news = new Promise<void>((resolve) => {
    told = resolve
  })
  let written = () => {}
  const onDisk = new Promise<void>((resolve) => {
    written = resolve
  })
  env.commit = async (write) => {
    await commit(write)
    written()
    await news
  }
  await append(journal, step('a', 1, { termsAdded: [state('queued')], events: [event('1', { traceId: 't' })] }))
  const settled = journal.settled()
  await onDisk
  t.equal(journal.count('run_request', 'state', 'queued'), 1)
  t.same(journal.history('trace', 't', 0, 10), [1])
  await append(journal, step('b', 1, { termsAdded: [state('queued')], events: [event('2', { traceId: 't' })] }))
  t.equal(journal.count('run_request', 'state', 'queued'), 2)
  t.same(journal.history('trace', 't', 0, 10), [1, 2])
  told()
  await settled
})

t.test('an entity being removed is gone at once, and a new one with its id survives the removal', async (t) => {
  const journal = await openIn(t, newHome(t))
  const old = [state('completed')]
  await append(journal, step('a', 5, { termsAdded: old }))
  await journal.settled()
  const removed = journal.removeEntities([{ kind: 'run_request', id: 'a', terms: old }])
  t.equal(journal.actor('run_request', 'a'), undefined, 'a step read now must not build on it')
  await append(journal, step('a', 1, { termsAdded: [state('queued')] }))
  t.equal(await removed, 1)
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  await journal.settled()
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  t.equal(journal.count('run_request', 'state', 'completed'), 0)
  t.equal(journal.count('run_request', 'state', 'queued'), 1)
  t.same((await verify(journal.environments)).findings, [])
})

t.test('a removal cut off by a kill is completed before the new entity of that id', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  const long = 'x'.repeat(200)
  const old = [state('completed'), { index: 'label', value: long, order: '2026' }]
  await append(journal, step('a', 5, { termsAdded: old }), step('b', 5, { termsAdded: [state('completed')] }))
  await journal.settled()
  let letGo = () => {}
  const held = journal.holdView(
    new Promise<void>((resolve) => {
      letGo = resolve
    }),
  )
  const removed = journal.removeEntities([{ kind: 'run_request', id: 'a', terms: old }])
  await append(journal, step('a', 1, { termsAdded: [state('queued')] }))
  const killed = `${home}-killed`
  cpSync(home, killed, { recursive: true })
  letGo()
  await Promise.all([held, removed])
  const again = await openIn(t, killed)
  t.equal(again.actor('run_request', 'a'), step('a', 1).record)
  t.equal(again.count('run_request', 'state', 'completed'), 1, 'the other entity is still there')
  t.equal(again.count('run_request', 'state', 'queued'), 1)
  t.equal(again.count('run_request', 'label', long), 0)
  t.same((await verify(again.environments)).findings, [])
})

/** A reservation of the one key that these tests use. */
const reserved = (value: string) => ({ reservation: { scope: 's', key: 'k', value } })
const sweepOver = { scope: 's', after: undefined, limit: 10, isOver: (value: string) => value === 'over' }

/** Keeps the view from being written until the returned function is called. */
function hold(journal: DiskJournal): () => Promise<void> {
  let letGo = () => {}
  const held = journal.holdView(
    new Promise<void>((resolve) => {
      letGo = resolve
    }),
  )
  return () => {
    letGo()
    return held
  }
}

t.test('a reservation made again while the old one is being removed stays', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1, reserved('over')))
  await journal.settled()
  const letGo = hold(journal)
  const swept = journal.sweepReservations(sweepOver)
  await append(journal, step('a', 2, reserved('new')))
  await letGo()
  t.equal((await swept).removed, 1, 'the old one')
  t.equal(journal.reservation('s', 'k'), 'new')
  await journal.settled()
  t.equal(journal.reservation('s', 'k'), 'new')
  await journal.close()
  t.equal((await openIn(t, home)).reservation('s', 'k'), 'new')
})

t.test('a sweep judges a reservation by its newest value, even before the view has it', async (t) => {
  const journal = await openIn(t, newHome(t))
  await append(journal, step('a', 1, reserved('over')))
  await journal.settled()
  await append(journal, step('a', 2, reserved('new')))
  t.same(await journal.sweepReservations(sweepOver), { looked: 1, removed: 0, last: undefined })
  await journal.settled()
  await append(journal, step('a', 3, reserved('over')))
  t.equal(
    (await journal.sweepReservations(sweepOver)).removed,
    0,
    'the view has another value: the next sweep removes it',
  )
  await journal.settled()
  t.equal(journal.reservation('s', 'k'), 'over')
  t.equal((await journal.sweepReservations(sweepOver)).removed, 1)
  t.equal(journal.reservation('s', 'k'), undefined)
  t.same((await verify(journal.environments)).findings, [])
})

t.test('a kill during a sweep, or before the view has an expired key, leaves the key to the next sweep', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1, reserved('over')))
  await journal.settled()
  const letGo = hold(journal)
  const swept = journal.sweepReservations(sweepOver)
  await append(journal, step('b', 1, { reservation: { scope: 's', key: 'unapplied', value: 'over' } }))
  const killed = `${home}-killed`
  cpSync(home, killed, { recursive: true })
  await letGo()
  await swept
  const again = await openIn(t, killed)
  t.equal(again.reservation('s', 'k'), 'over')
  t.equal((await again.sweepReservations(sweepOver)).removed, 2)
  t.same([again.reservation('s', 'k'), again.reservation('s', 'unapplied')], [undefined, undefined])
  t.same((await verify(again.environments)).findings, [])
  await again.close()
  t.equal((await openIn(t, killed)).reservation('s', 'k'), undefined)
})

t.test('a backup made while reservations are removed is complete', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  await append(journal, step('a', 1, reserved('over')), step('b', 1))
  await append(journal, step('b', 2, { reservation: { scope: 's', key: 'other', value: 'kept' } }))
  await journal.settled()
  const [{ removed }] = await Promise.all([
    journal.sweepReservations(sweepOver),
    backup(journal, `${home}-copy`, FREELY),
    append(journal, step('a', 2, reserved('new'))),
  ])
  t.equal(removed, 1)
  await restoreFiles(`${home}-copy`, `${home}-restored`)
  const restored = await openIn(t, `${home}-restored`)
  t.same([restored.reservation('s', 'k'), restored.reservation('s', 'other')], ['new', 'kept'])
  t.same((await verify(restored.environments)).findings, [])
})

t.test('a damaged reservation does not keep a sweep from removing others', async (t) => {
  const journal = await openIn(t, newHome(t))
  await append(journal, step('a', 1, reserved('over')))
  await append(journal, step('b', 1, { reservation: { scope: 's', key: 'other', value: 'over' } }))
  await journal.settled()
  const { env, reservations } = journal.environments.view
  await env.commit(() => {
    damage(reservations, ['s', 'k'])
  })
  t.same(await journal.sweepReservations(sweepOver), { looked: 2, removed: 1, last: undefined })
  t.throws(() => journal.reservation('s', 'k'), { name: 'CorruptRow' })
  await append(journal, step('c', 1))
})

t.test('removals that wait for the view are rejected when it fails, and the journal can be closed', async (t) => {
  const journal = await openIn(t, newHome(t), { onFailure: () => {} })
  const { env } = journal.environments.view
  const commit = env.commit.bind(env)
  env.commit = async (write) => {
    await commit(write)
    throw new Error('no space left')
  }
  await appendEvents(journal, event('1'))
  const settled = journal.settled()
  const trimmed = journal.trim({ beforeSequence: 1e9 })
  const removed = journal.removeEntities([])
  await t.rejects(settled, { name: 'JournalFailure' })
  await t.rejects(removed, { name: 'JournalFailure' })
  await trimmed.catch(() => {})
  await Promise.all([journal.close(), journal.close()])
})

t.test('a home holds only the log and the view', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  t.same(readdirSync(home).sort(), ['log', 'view'])
  await journal.close()
  writeFileSync(join(home, 'config.json'), '{}')
  await openIn(t, home)
})
