/**
 * The thread that writes the view and removes rows: how it ends, how its failures are reported, and that the end of the
 * process never waits for it for ever.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import workerThreads, { Worker } from 'node:worker_threads'
import t, { type Test } from 'tap'
import { verify } from '../../../storage/verify/verify.ts'
import { JobGate } from '../../../storage/view/job-gate.ts'
import { ViewThread } from '../../../storage/view/view-thread.ts'
import { openIn } from '../open.ts'
import { append, appendEvents, event, state, step } from '../steps.ts'

const CHILD = fileURLToPath(new URL('../view-thread-child.js', import.meta.url))
const LOOK = { floor: 1, isCleared: true, end: 10, recordedBeforeMs: Number.POSITIVE_INFINITY, nowMs: 0 }
const IGNORE = () => {}
const SILENT = { onRepeat: IGNORE, onThreadEnd: IGNORE }
let homes = 0
const newHome = (t: Test) => join(t.testdir(), `home-${homes++}`)

t.test('a process can end in the middle of a removal, and the next one completes it', async (t) => {
  for (const [i, how] of ['exit', 'exit', 'exit', 'exit', 'throw', 'throw'].entries()) {
    const home = newHome(t)
    const child = spawn(process.execPath, [CHILD, home, String(250 + 90 * i), how], { stdio: 'ignore' })
    const late = setTimeout(() => child.kill('SIGKILL'), 30_000)
    const [code, signal] = await once(child, 'exit')
    clearTimeout(late)
    t.same([code, signal], [how === 'throw' ? 1 : 7, null])
    const journal = await openIn(t, home)
    t.same((await verify(journal.environments)).findings, [])
    await journal.trim({ beforeSequence: 1e9 })
    t.same((await verify(journal.environments)).findings, [], 'what was cut short is finished')
  }
})

t.test('a gate is shut only while no job is under way, and then none begins', async (t) => {
  const gate = new JobGate()
  t.equal(gate.enter(), false, 'a thread that has not started counts as being at its first job')
  t.equal(gate.shut(20), false, 'not within that time')
  const worker = new Worker(
    `const { workerData: shared } = require('node:worker_threads')
     const state = new Int32Array(shared)
     setTimeout(() => { Atomics.store(state, 0, 0); Atomics.notify(state, 0) }, 200)`,
    { eval: true, workerData: gate.shared },
  )
  await once(worker, 'online')
  const begunMs = performance.now()
  t.equal(gate.shut(20_000), true)
  t.ok(performance.now() - begunMs > 100, 'it has waited for the job')
  t.equal(new JobGate(gate.shared).enter(), false)
  t.equal(gate.shut(0), true, 'it stays shut')
  gate.leave()
  t.equal(gate.enter(), false, 'leaving late does not open it')
  await once(worker, 'exit')
})

t.test('a thread that cannot start rejects its jobs, and the next job tries another thread', async (t) => {
  const file = join(t.testdir(), 'file')
  writeFileSync(file, '')
  const thread = new ViewThread(file, SILENT, () => t.fail('nothing was written'))
  for (let n = 0; n < 2; n += 1) {
    await t.rejects(Promise.all([thread.look(LOOK), thread.removeEvents(2)]), { message: /ENOTDIR|not a directory/i })
  }
  t.equal(await thread.removeEntities([]), 0, 'an empty job needs no thread')
  await thread.close()
})

t.test('jobs run one after another, and the exit listener is there only while there is a thread', async (t) => {
  const waiting = process.listenerCount('exit')
  const journal = await openIn(t, newHome(t))
  t.equal(process.listenerCount('exit'), waiting, 'there is none before its first job')
  const terms = [state('completed')]
  const ids = Array.from({ length: 20 }, (_, n) => `a${n}`)
  await append(journal, ...ids.map((id) => step(id, 1, { termsAdded: terms })))
  await journal.settled()
  const { forgetter } = journal.environments
  const removals = ids.map((id) => forgetter.removeEntities([{ kind: 'run_request', id, terms }]))
  t.equal(process.listenerCount('exit'), waiting + 1)
  t.same(
    await Promise.all(removals),
    ids.map(() => 1),
  )
  await journal.close()
  t.equal(process.listenerCount('exit'), waiting)
})

t.test('a failed look does no harm, and a failed removal fails the journal', async (t) => {
  const failures: string[] = []
  const journal = await openIn(t, newHome(t), { onFailure: ({ message }) => failures.push(message) })
  const { forgetter } = journal.environments
  await appendEvents(journal, event('1'), event('2'))
  await journal.settled()
  const look = forgetter.look.bind(forgetter)
  forgetter.look = () => Promise.reject(new Error('no look'))
  await t.rejects(journal.trim({ beforeSequence: 2 }), { message: 'no look' })
  forgetter.look = look
  t.same(await journal.trim({ beforeSequence: 2 }), { removed: 1, more: false })
  forgetter.removeEvents = () => Promise.reject(new Error('no removal'))
  await t.rejects(journal.trim({ beforeSequence: 3 }), { name: 'JournalFailure' })
  t.equal(failures.length, 1)
  t.match(failures[0], /no removal/)
})

t.test('a journal that fails during a look does not raise the floor', async (t) => {
  const journal = await openIn(t, newHome(t), { onFailure: IGNORE })
  const { forgetter } = journal.environments
  await appendEvents(journal, event('1'), event('2'))
  await journal.settled()
  const look = forgetter.look.bind(forgetter)
  forgetter.look = async (at) => {
    const oldest = await look(at)
    journal.readFailed(new Error('meanwhile'))
    return oldest
  }
  await t.rejects(journal.trim({ beforeSequence: 2 }), { name: 'JournalFailure', message: /meanwhile/ })
  t.equal(journal.oldestSequence, 1)
})

t.test('rows that the thread removed are gone for the very next reads', async (t) => {
  const journal = await openIn(t, newHome(t))
  for (let n = 0; n < 40; n += 1) {
    const terms = [state('completed')]
    await append(journal, step(`a${n}`, 1, { termsAdded: terms }))
    await journal.settled()
    const removed = journal.removeEntities([{ kind: 'run_request', id: `a${n}`, terms }]).then((count) => {
      t.equal(count, 1)
      t.equal(journal.actor('run_request', `a${n}`), undefined)
      t.equal(journal.count('run_request', 'state', 'completed'), 0)
    })
    // Opens a read snapshot that is older than the removal.
    for (let turn = 0; turn < 20; turn += 1) {
      journal.hasTrace('demo', 'none')
      await new Promise((resolve) => setImmediate(resolve))
    }
    await removed
  }
})

t.test('when no thread can be started, removals and retention are rejected and the journal goes on', async (t) => {
  const { Worker: Given } = workerThreads
  const replace = (by: unknown): void => {
    workerThreads.Worker = by as never
    syncBuiltinESMExports()
  }
  t.teardown(() => replace(Given))
  const file = join(t.testdir(), 'file')
  writeFileSync(file, '')
  const ways = {
    'the system gives none': class {
      constructor() {
        throw new Error('ERR_WORKER_INIT_FAILED')
      }
    },
    'it ends while it begins': class extends Given {
      constructor(...[script, options]: ConstructorParameters<typeof Given>) {
        super(script, { ...options, workerData: { ...options!.workerData, home: file } })
      }
    },
  }
  for (const [how, without] of Object.entries(ways)) {
    const journal = await openIn(t, newHome(t), { onFailure: ({ message }) => t.fail(message), onThreadEnd: IGNORE })
    const { forgetter, view } = journal.environments
    const entity = { kind: 'run_request', id: 'a0', terms: [state('completed')] }
    await append(journal, step('a0', 1, { termsAdded: entity.terms }))
    await appendEvents(journal, event('1'), event('2'))
    await journal.settled()
    replace(without)
    await t.rejects(journal.removeEntities([entity]), { name: 'NotBegun' }, how)
    await t.rejects(journal.trim({ beforeSequence: 2 }), { name: 'NotBegun' })
    const look = forgetter.look.bind(forgetter)
    forgetter.look = async (at) => {
      replace(Given)
      const threads = threadsAsked(t)
      const found = await look(at)
      await threads[0]!.terminate()
      replace(without)
      return found
    }
    t.same(await journal.trim({ beforeSequence: 2 }), { removed: 1, more: false }, 'a later step of retention works')
    forgetter.look = look
    replace(Given)
    t.equal(await journal.removeEntities([entity]), 1)
    t.match(await journal.trim({ beforeSequence: 3 }), { removed: 1 })
    t.equal(view.eventIds.getKeysCount(), 0)
    await append(journal, step('a1', 1))
    await journal.close()
  }
})

/** The threads that are given jobs from now on, in order; where `end` returns true, the thread is ended instead. */
function threadsAsked(t: Test, end: (job: unknown) => boolean = () => false): Worker[] {
  const asked: Worker[] = []
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function (this: Worker, ...message: Parameters<typeof postMessage>) {
    if (asked.at(-1) !== this) asked.push(this)
    if (end((message[0] as { job?: unknown }).job)) void this.terminate()
    else postMessage.apply(this, message)
  }
  t.teardown(() => {
    Worker.prototype.postMessage = postMessage
  })
  return asked
}

t.test('events that a thread had found before it ended are removed by the next step', async (t) => {
  const journal = await openIn(t, newHome(t), { onFailure: ({ message }) => t.fail(message) })
  const { forgetter, view } = journal.environments
  for (const id of ['1', '2', '3', '4']) await appendEvents(journal, event(id, { traceId: `t${id}` }))
  await journal.settled()
  const threads = threadsAsked(t)
  const look = forgetter.look.bind(forgetter)
  forgetter.look = async (at) => {
    const found = await look(at)
    if (threads.length === 1) await threads[0]!.terminate()
    return found
  }
  t.match(await journal.trim({ beforeSequence: 3 }), { removed: 2, more: true }, 'gone for every reader')
  t.equal(threads.length, 2, 'another thread was asked to remove them')
  await journal.trim({ beforeSequence: 3 })
  t.same(
    [view.eventIds, view.histories].map((table) => table.getKeysCount()),
    [2, 2],
    'their ids and histories are gone',
  )
  t.same((await verify(journal.environments)).findings, [])
})

t.test('a job that a thread had not begun when it ended is done by another thread, or without one', async (t) => {
  const ends: string[] = []
  const journal = await openIn(t, newHome(t), { onFailure: ({ message }) => t.fail(message) })
  const { forgetter } = journal.environments
  const terms = [state('completed')]
  let toEnd: unknown
  const threads = threadsAsked(t, (job) => {
    const isToEnd = job !== undefined && job === toEnd
    if (isToEnd) {
      ends.push(String(job))
      toEnd = undefined
    }
    return isToEnd
  })
  await forgetter.look(LOOK)
  toEnd = 'commit'
  const ids = Array.from({ length: 600 }, (_, n) => `a${n}`)
  await append(journal, ...ids.map((id) => step(id, 1, { termsAdded: terms })))
  await journal.settled()
  t.equal(journal.count('run_request', 'state', 'completed'), 600)
  await forgetter.look(LOOK)
  toEnd = 'removeEntities'
  t.equal(await journal.removeEntities([{ kind: 'run_request', id: 'a0', terms }]), 1)
  t.equal(journal.count('run_request', 'state', 'completed'), 599)
  toEnd = 'commit'
  const keys = Array.from({ length: 250 }, (_, n) => `k${n}`)
  await append(
    journal,
    ...keys.map((key, n) => step(`b${n}`, 1, { reservation: { scope: 'made', key, value: 'over' } })),
  )
  await journal.settled()
  await forgetter.look(LOOK)
  toEnd = 'commit'
  const sweep = { scope: 'made', after: undefined, limit: 250, isOver: () => true }
  t.match(await journal.sweepReservations(sweep), { removed: 250 }, 'expired keys are removed')
  t.same(ends, ['commit', 'removeEntities', 'commit', 'commit'])
  t.equal(journal.environments.view.reservations.getKeysCount(), 0)
  t.ok(threads.length >= 2)
  t.same((await verify(journal.environments)).findings, [])
})
