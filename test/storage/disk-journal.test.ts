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

t.test(
  'rows of the events that retention removes go a step later, the last at its end, and with the next process',
  async (t) => {
    const home = newHome(t)
    const first = await openIn(t, home)
    const rowsOf = ({ environments }: DiskJournal) => [...environments.log.events.getKeys()]
    await appendEvents(first, ...Array.from({ length: 5_000 }, (_, i) => event(`${i}`, { traceId: `t${i % 7}` })))
    await first.settled()
    const rows = rowsOf(first)
    t.same(await first.trim({ beforeSequence: 4_500 }), { removed: 2_000, more: true })
    t.same(rowsOf(first), rows, 'cleared, and still there')
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
  },
)

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
  // A foreign writer: the file does not end where this one has written last.
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

const viewWrites: Readonly<Record<string, (journal: DiskJournal) => Promise<unknown>>> = {
  'a fold': (journal) => append(journal, step('a', 2)).then(() => journal.settled()),
  retention: (journal) => journal.trim({ beforeSequence: 2 }),
  'a removal': (journal) => journal.removeEntities([{ kind: 'run_request', id: 'a', terms: [] }]),
}

for (const [what, write] of Object.entries(viewWrites)) {
  t.test(`a view that cannot be written ends the journal in the same words for ${what}`, async (t) => {
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

t.test('a start that finds the log written by another process although the lock was free is refused', async (t) => {
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

t.test('a start that another process writes beside is refused before it touches the view', async (t) => {
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

t.test('a view that does not catch up in 250 ms makes a list fail with ViewBehind, unless it waits', async (t) => {
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
  await append(journal, ...Array.from({ length: 40_000 }, (_, i) => step(`${i}`, 1)))
  const resumed = new Promise<void>((resume) => t.equal(journal.waitForRoom(resume), true))
  letGo()
  await resumed
  t.equal(
    journal.waitForRoom(() => t.fail('not waiting')),
    false,
  )
  // So much has called for the thread that writes the view: it may open its files only now, while the folder is taken away.
  await journal.close()
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

t.test('a read in the moment between a view write and the news of it counts nothing twice', async (t) => {
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

t.test('an entity that is being removed is gone at once, and a new one of its name lives', async (t) => {
  const journal = await openIn(t, newHome(t))
  const old = [state('completed')]
  await append(journal, step('a', 5, { termsAdded: old }))
  await journal.settled()
  const removed = journal.removeEntities([{ kind: 'run_request', id: 'a', terms: old }])
  t.equal(journal.actor('run_request', 'a'), undefined, 'whoever reads it now must not build upon it')
  await append(journal, step('a', 1, { termsAdded: [state('queued')] }))
  t.equal(await removed, 1)
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  await journal.settled()
  t.equal(journal.actor('run_request', 'a'), step('a', 1).record)
  t.equal(journal.count('run_request', 'state', 'completed'), 0)
  t.equal(journal.count('run_request', 'state', 'queued'), 1)
  t.same((await verify(journal.environments)).findings, [])
})

t.test('a removal that a kill cut off is carried out before the new life of the name', async (t) => {
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
  t.equal(again.count('run_request', 'state', 'completed'), 1, 'the other one is still there')
  t.equal(again.count('run_request', 'state', 'queued'), 1)
  t.equal(again.count('run_request', 'label', long), 0)
  t.same((await verify(again.environments)).findings, [])
})

/** A reservation of the one key that these tests are about. */
const reserved = (value: string) => ({ reservation: { scope: 's', key: 'k', value } })
const sweepOver = { scope: 's', after: undefined, limit: 10, isOver: (value: string) => value === 'over' }

/** Holds the view until it is told to let it go. */
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

t.test('a reservation that is given anew while an old one is being removed stays', async (t) => {
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

t.test('a reservation that is given anew, and not applied yet, is not looked at as it was', async (t) => {
  const journal = await openIn(t, newHome(t))
  await append(journal, step('a', 1, reserved('over')))
  await journal.settled()
  await append(journal, step('a', 2, reserved('new')))
  t.same(await journal.sweepReservations(sweepOver), { looked: 1, removed: 0, last: undefined })
  await journal.settled()
  await append(journal, step('a', 3, reserved('over')))
  t.equal((await journal.sweepReservations(sweepOver)).removed, 0, 'the view holds another one: the next sweep has it')
  await journal.settled()
  t.equal(journal.reservation('s', 'k'), 'over')
  t.equal((await journal.sweepReservations(sweepOver)).removed, 1)
  t.equal(journal.reservation('s', 'k'), undefined)
  t.same((await verify(journal.environments)).findings, [])
})

t.test('a kill in the middle of a sweep, or before what is over was applied, leaves it to the next one', async (t) => {
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

t.test('a backup that is taken while reservations are removed is whole', async (t) => {
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

t.test('a reservation that is damaged keeps no sweep from the others', async (t) => {
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

t.test('what waits to write the view hears of a failure, and the journal can be closed', async (t) => {
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

t.test('a home holds nothing but the two environments', async (t) => {
  const home = newHome(t)
  const journal = await openIn(t, home)
  t.same(readdirSync(home).sort(), ['log', 'view'])
  await journal.close()
  writeFileSync(join(home, 'config.json'), '{}')
  await openIn(t, home)
})
