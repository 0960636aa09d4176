/**
 * A commit of the view is first recorded, in slices if it is large, and then put completely or not at all, in this
 * thread or another.
 */
import { writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import workerThreads from 'node:worker_threads'
import t, { type Test } from 'tap'
import { type Key, pausesOf, type ViewTables } from '../../../storage/environments.ts'
import { openEnvironments } from '../../../storage/home/home-environments.ts'
import type { Batch } from '../../../storage/log/redo.ts'
import { Fold } from '../../../storage/view/fold.ts'
import { View } from '../../../storage/view/view.ts'
import { ViewThread } from '../../../storage/view/view-thread.ts'
import { until } from '../../until.ts'
import { event, state, step } from '../steps.ts'

const ACTORS = 300
const IGNORE = () => {}
const SILENT = { onRepeat: IGNORE, onThreadEnd: IGNORE }

/** The first step of this many actors; the last one's record can be one that throws. */
function foldOf(count: number, isLastMade = true): Fold {
  const steps = Array.from({ length: count }, (_, i) => {
    const made = step(`a${i}`, 1, { termsAdded: [state('queued')], events: [event(`${i}`, { traceId: `t${i}` })] })
    if (isLastMade || i < count - 1) return made
    return {
      ...made,
      recordText: {
        get record(): string {
          throw new Error('no text')
        },
      },
    }
  })
  const batch: Batch = { batch: 1, firstSequence: 1, lastSequence: count, steps }
  const fold = new Fold()
  fold.add(batch)
  return fold
}

const rowsOf = ({ snapshots, entities, eventIds, histories }: ViewTables) =>
  [snapshots, entities, eventIds, histories].map((table) => table.getKeysCount())

async function opened(t: Test) {
  // Until the next turn Node.js has an exit listener of its own, from the first evaluation of this file.
  await new Promise(setImmediate)
  const environments = await openEnvironments(join(t.testdir(), 'home'), () => {})
  t.teardown(() => environments.close())
  return { tables: environments.view, view: new View(environments.view) }
}

/** Whether the thread is up: others get turns in the middle of a commit only where its rows are sent. */
async function isSent(tables: ViewTables): Promise<boolean> {
  let hasTurned = false
  setImmediate(() => {
    hasTurned = true
  })
  let seen = false
  await tables.env.commit(function* () {
    yield true
    seen = hasTurned
  })
  return seen
}

const isUp = (tables: ViewTables) => until(() => isSent(tables), Boolean)

t.test('a thread is started for a larger commit, and its writes can be read', async (t) => {
  const { tables, view } = await opened(t)
  const before = process.listenerCount('exit')
  await tables.env.commit(() => {
    for (let i = 0; i < 50; i += 1) tables.counts.put(['a', 'b', `${i}`], `${i}`)
  })
  t.equal(process.listenerCount('exit'), before, 'none for a few rows')
  t.equal(tables.counts.getKeysCount(), 50)
  await tables.env.commit(() => {
    for (let i = 0; i < 500; i += 1) tables.counts.put(['c', 'd', `${i}`], `${i}`)
  })
  t.equal(process.listenerCount('exit'), before + 1)
  t.equal(tables.counts.getKeysCount(), 550, 'the commit does not wait for it to start')
  await isUp(tables)
  await view.write(foldOf(ACTORS), 'e', () => false)
  t.same(rowsOf(tables), [ACTORS, ACTORS, ACTORS, ACTORS])
  t.equal(view.record('run_request', 'a299'), step('a299', 1).record)
  t.equal(view.count('run_request', 'state', 'queued'), ACTORS)
  await tables.env.commit(() => {
    for (let i = 0; i < 500; i += 1) tables.counts.remove(['c', 'd', `${i}`])
  })
  t.equal(tables.counts.getKeysCount(), 51, 'rows that it removes are gone')
})

t.test('a commit that throws leaves nothing behind, and the next one is complete', async (t) => {
  const { tables, view } = await opened(t)
  for (const [count, isThreadUp] of [
    [3, false],
    [ACTORS, false],
    [ACTORS, true],
  ] as const) {
    if (isThreadUp) await isUp(tables)
    await t.rejects(
      view.write(foldOf(count, false), 'e', () => false),
      { message: 'no text' },
    )
    t.same(rowsOf(tables), [0, 0, 0, 0])
    t.equal(view.marker(), undefined)
  }
  t.throws(() => tables.counts.put(['a', 'b', 'c'], '1'), /outside a commit/)
  await view.write(foldOf(ACTORS), 'e', () => false)
  t.same(rowsOf(tables), [ACTORS, ACTORS, ACTORS, ACTORS])
})

t.test('a large fold is recorded in slices with pauses for others, unless it is hurried', async (t) => {
  const { tables } = await opened(t)
  const long = 'x'.repeat(300_000)
  const big = new Fold()
  big.add({
    batch: 1,
    firstSequence: 1,
    lastSequence: 0,
    steps: Array.from({ length: 10 }, (_, i) => step(`b${i}`, 1, { record: long })),
  })
  for (const [fold, isHurried, expected] of [
    [foldOf(ACTORS), false, [true, true, true, true]],
    [foldOf(ACTORS), true, [false, false, false, false]],
    [big, false, [true, true]],
    [foldOf(3), false, []],
  ] as const) {
    const pauses: boolean[] = []
    const commit: ViewTables['env']['commit'] = (write) =>
      tables.env.commit(() => {
        pauses.push(...pausesOf(write))
        throw new Error('enough')
      })
    const view = new View({ ...tables, env: { ...tables.env, commit } })
    await t.rejects(
      view.write(fold, 'e', () => isHurried),
      { message: 'enough' },
    )
    t.same(pauses, expected, 'one for each 128 actors and traces, or a million characters')
  }
  t.equal(Math.round(big.weight), 732, 'its weight is that of its records')
})

t.test('a commit gives others a turn only at pauses that allow it', async (t) => {
  const { tables } = await opened(t)
  await isUp(tables)
  let turns = 0
  const count = (): void => {
    turns += 1
    counting = setImmediate(count)
  }
  let counting = setImmediate(count)
  const seen: number[] = []
  await tables.env.commit(function* () {
    for (const mayOthers of [false, false, true, true]) {
      tables.counts.put(['a', 'b', `${seen.length}`], '1')
      seen.push(turns)
      yield mayOthers
    }
  })
  clearImmediate(counting)
  t.equal(seen[0], seen[2])
  t.ok(seen[2]! < seen[3]!, `${seen}`)
  t.equal(tables.counts.getKeysCount(), 4)
})

t.test('keys and values of every kind reach the thread unchanged', async (t) => {
  const { tables } = await opened(t)
  await isUp(tables)
  const keys: Key[] = [['a'], ['a', 1], [2 ** 40, '', 'é\u2028😀', '\u0001'], ['x'.repeat(500)]]
  const values = ['', 'é😀', '{"a":"\\u0000"}', 'y'.repeat(100_000)]
  const filler = Array.from({ length: 200 }, (_, i): Key => ['filler', i])
  await tables.env.commit(() => {
    for (const [i, key] of keys.entries()) tables.timers.put(key, values[i]!)
    for (const key of filler) tables.timers.put(key, 'f')
    tables.marker.put('a text', 'value')
  })
  for (const [i, key] of keys.entries()) t.equal(tables.timers.get(key), values[i])
  t.equal(tables.marker.get('a text'), 'value')
  await tables.env.commit(() => {
    for (const key of [...keys, ...filler]) tables.timers.remove(key)
    tables.marker.remove('a text')
  })
  t.equal(tables.timers.getKeysCount(), 0)
  t.equal(tables.marker.get('a text'), undefined)
})

t.test('a commit whose thread ends fails and writes nothing', async (t) => {
  const home = join(t.testdir(), 'home')
  const environments = await openEnvironments(home, () => {})
  t.teardown(() => environments.close())
  const thread = new ViewThread(home, SILENT, () => t.fail('nothing was written'))
  const sending = await until(async () => thread.begin(), Boolean)
  sending!.send([0, 'value', 1, 'key'])
  await thread.close()
  t.equal(thread.begin(), undefined, 'the next is only being started')
  await t.rejects(sending!.commit(), { message: /view writer thread ended/ })
  t.equal(environments.view.snapshots.getKeysCount(), 0)
  await thread.close()
})

t.test(
  'when no thread can be started, commits are written without one, which is reported and retried a minute later',
  async (t) => {
    const file = join(t.testdir(), 'file')
    writeFileSync(file, '')
    const { Worker } = workerThreads
    t.teardown(() => {
      workerThreads.Worker = Worker
      syncBuiltinESMExports()
    })
    for (const how of ['it ends while it begins', 'the system gives none']) {
      if (how === 'the system gives none') {
        workerThreads.Worker = class {
          constructor() {
            throw new Error('ERR_WORKER_INIT_FAILED')
          }
        } as never
        syncBuiltinESMExports()
      }
      const told: string[] = []
      const onThreadEnd = ({ message }: Error) => told.push(message)
      const thread = new ViewThread(file, { onRepeat: IGNORE, onThreadEnd }, () => t.fail('nothing was written'))
      t.equal(thread.begin(), undefined, how)
      await until(
        async () => told,
        ({ length }) => length > 0,
      )
      t.match(told[0], /ENOTDIR|not a directory|ERR_WORKER_INIT_FAILED/i)
      const before = process.listenerCount('exit')
      t.equal(thread.begin(), undefined)
      t.equal(process.listenerCount('exit'), before, 'not at once')
      t.equal(told.length, 1)
      await t.rejects(thread.look({ floor: 1, isCleared: true, end: 1, recordedBeforeMs: 0, nowMs: 0 }))
      await thread.close()
    }
  },
)
