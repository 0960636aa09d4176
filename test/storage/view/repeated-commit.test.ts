/**
 * Commits that LMDB gives up without a reason: an error with those words is thrown in the middle of a real transaction.
 */
import { join } from 'node:path'
import { asBinary } from 'lmdb'
import t, { type Test } from 'tap'
import { type Environments, type Medium, pausesOf, type ViewEnvironment } from '../../../storage/environments.ts'
import { folderMedium } from '../../../storage/home/home-environments.ts'
import { verify } from '../../../storage/verify/verify.ts'
import { repeated } from '../../../storage/view/repeated-commit.ts'
import { openIn } from '../open.ts'
import { append, event, state, step } from '../steps.ts'

const GROUNDLESS =
  'MDB_BAD_TXN: Transaction must abort, has a child, or is invalid: reserved freelist had a data entry with zero-size, last id 12'
/** Where lmdb-js looks whether a value is bytes. */
const BINARY = Object.keys(asBinary(Buffer.alloc(0)))[0]!
const OTHERS = ['MDB_BAD_TXN: Transaction must abort, has a child, or is invalid', 'Input/output error']

/** Throws an error with these words this many times, and then does nothing. */
function failing(times: number, message = GROUNDLESS) {
  let calls = 0
  return {
    commit: () => {
      calls += 1
      if (calls <= times) throw new Error(message)
    },
    calls: () => calls,
  }
}

const made = (id: string) => step(id, 1, { termsAdded: [state('queued')], events: [event(id)] })

/** A value that ends the transaction in which it is first put, and is like any other when it is put again. */
function givingUp(): string {
  let isFirst = true
  const value = {
    get [BINARY]() {
      if (isFirst) {
        isFirst = false
        throw new Error(GROUNDLESS)
      }
      return Buffer.from('{}')
    },
  }
  return value as never
}

/**
 * A journal whose next transaction of the view, after `giveUp`, ends as one that LMDB gives up: before anything is put,
 * since a batch that throws keeps what it has put, unlike a commit that fails.
 */
async function openGivingUp(t: Test) {
  const home = join(t.testdir(), 'home')
  let isArmed = false
  const failing = ({ view, ...rest }: Environments): Environments => {
    const commit: ViewEnvironment['commit'] = (write) =>
      view.env.commit(function* () {
        if (isArmed) view.marker.put('first', givingUp())
        isArmed = false
        yield* pausesOf(write)
      })
    return { ...rest, view: { ...view, env: { ...view.env, commit } } }
  }
  const told: string[] = []
  const lmdb = folderMedium(home, { onRepeat: ({ message }) => told.push(message) })
  const open: Medium['open'] = async (check) => failing(await lmdb.open(check))
  const journal = await openIn(t, home, { medium: { ...lmdb, open } })
  const giveUp = () => {
    isArmed = true
  }
  return { journal, told, giveUp }
}

t.test('a commit given up without a reason is repeated up to three times, each reported', async (t) => {
  for (const [times, goesThrough] of [
    [0, true],
    [1, true],
    [3, true],
    [4, false],
  ] as const) {
    const told: string[] = []
    const { commit, calls } = failing(times)
    const run = repeated(
      async () => commit(),
      ({ message }) => told.push(message),
    )
    if (goesThrough) await run
    else await t.rejects(run, { message: GROUNDLESS })
    t.equal(calls(), Math.min(times + 1, 4), `${times}`)
    t.same(told, new Array(Math.min(times, 3)).fill(GROUNDLESS))
  }
})

t.test('a commit that fails for any other reason is not repeated', async (t) => {
  for (const message of OTHERS) {
    const { commit, calls } = failing(1, message)
    await t.rejects(
      repeated(
        async () => commit(),
        () => t.fail('reported'),
      ),
      { message },
    )
    t.equal(calls(), 1)
  }
})

t.test('a commit that LMDB gave up is in the view completely and once', async (t) => {
  const { journal, told, giveUp } = await openGivingUp(t)
  for (let i = 0; i < 5; i += 1) await append(journal, made(`a${i}`))
  await journal.settled()
  giveUp()
  await append(journal, made('b'), made('c'))
  await journal.settled()
  t.same(told, [GROUNDLESS])
  for (const id of ['b', 'c']) t.equal(journal.actor('run_request', id), made(id).record)
  t.equal(journal.event(6), event('b').text)
  t.equal(journal.event(7), event('c').text)
  t.equal(journal.lastSequence, 7)
  t.equal(journal.count('run_request', 'state', 'queued'), 7)
  t.same((await verify(journal.environments)).findings, [])
})
