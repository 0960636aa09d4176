/** Reads of the view between a failed write of LMDB and the report of that failure. */
import { join } from 'node:path'
import t, { type Test } from 'tap'
import type { DiskJournal } from '../../../storage/disk-journal.ts'
import type { Environments, Medium, Table } from '../../../storage/environments.ts'
import { folderMedium } from '../../../storage/home/home-environments.ts'
import { JournalFailure } from '../../../storage/journal.ts'
import { systemPlatform } from '../../../storage/platform.ts'
import { openIn } from '../open.ts'
import { append, event, state, step } from '../steps.ts'

const PANIC = 'MDB_PANIC: Update of meta page failed or environment had fatal error'
/** What LMDB says of a read transaction that it has given out before. */
const PANIC_AGAIN = `Invalid argument: ${PANIC}`

/** What it says of a page that is not one, and then of the transaction that met it. */
const DAMAGE = [
  'MDB_CORRUPTED: Located page was wrong type',
  'MDB_PAGE_NOTFOUND: Requested page not found',
  'Invalid argument: MDB_BAD_TXN: Transaction must abort, has a child, or is invalid',
]

interface Disk {
  readonly medium: Medium
  /**
   * From now on reads are refused, as by LMDB when a meta page could not be written: a range has no rows, anything else
   * throws.
   */
  fail(message?: string): void
  /** The next write of the view fails, known only to LMDB. Resolves once it has failed. */
  failView(): Promise<void>
  /** Lets the caller of that write know. */
  tell(): void
}

function failing(home: string): Disk {
  let failure: string | undefined
  let tell = () => {}
  const told = new Promise<void>((resolve) => {
    tell = resolve
  })
  let onFailed: (() => void) | undefined
  const panics = <K>(table: Table<K>): Table<K> =>
    new Proxy(table, {
      get(target, name) {
        const value = Reflect.get(target, name, target)
        if (typeof value !== 'function' || name === 'put' || name === 'remove') return value
        return (...args: unknown[]) => {
          if (failure === undefined) return value.apply(target, args)
          if (name === 'getKeys' || name === 'getRange') return []
          throw new Error(failure)
        }
      },
    })
  const broken = ({ view, ...rest }: Environments): Environments => ({
    ...rest,
    view: {
      ...view,
      snapshots: panics(view.snapshots),
      entities: panics(view.entities),
      eventIds: panics(view.eventIds),
      histories: panics(view.histories),
      timers: panics(view.timers),
      outbox: panics(view.outbox),
      reservations: panics(view.reservations),
      marker: panics(view.marker),
      env: {
        ...view.env,
        commit: async (write) => {
          if (onFailed === undefined) return view.env.commit(write)
          failure = PANIC_AGAIN
          onFailed()
          await told
          throw new Error('Input/output error')
        },
      },
    },
  })
  const medium = {
    ...folderMedium(home),
    open: async (check) => broken(await folderMedium(home).open(check)),
  } as Medium
  return {
    medium,
    fail: (message = PANIC_AGAIN) => {
      failure = message
    },
    failView: () =>
      new Promise<void>((resolve) => {
        onFailed = resolve
      }),
    tell: () => tell(),
  }
}

let scopes = 0
const reads: Readonly<Record<string, (journal: DiskJournal) => unknown>> = {
  'a record': (journal) => journal.actor('run_request', 'a'),
  'a history': (journal) => journal.history('trace', 't', 0, 10),
  'a history backward': (journal) => journal.historyBackward('trace', 't', 9, 10),
  'a scan': (journal) => [...journal.scan('run_request', 'state', 'queued')],
  'an index': (journal) => [...journal.scanIndex('run_request', 'state')],
  'a trace': (journal) => journal.hasTrace('demo', 't'),
  'the timers': (journal) => journal.timers(0, 1, 10),
  'the outbox': (journal) => [...journal.outbox()],
  'a key': (journal) => [journal.reservation(`scope-${scopes++}`, 'k')],
}

async function opened(t: Test, rest: Parameters<typeof openIn>[2]) {
  const home = join(t.testdir(), 'home')
  const disk = failing(home)
  const journal = await openIn(t, home, { ...rest, medium: disk.medium })
  await append(journal, step('a', 1, { termsAdded: [state('queued')], events: [event('1', { traceId: 't' })] }))
  await journal.settled()
  return { disk, journal }
}

t.test('any read that LMDB refuses throws a JournalFailure', async (t) => {
  const { disk, journal } = await opened(t, { onFailure: () => {} })
  for (const [what, read] of Object.entries(reads)) t.ok(read(journal), what)
  for (const refusal of [PANIC_AGAIN, PANIC, ...DAMAGE]) {
    disk.fail(refusal)
    for (const [what, read] of Object.entries(reads)) t.throws(() => read(journal), { name: 'JournalFailure' }, what)
  }
  await t.rejects(journal.list({ kind: 'run_request', index: 'state', value: 'queued', limit: 5, reverse: false }), {
    name: 'JournalFailure',
  })
})

t.test('a failure is reported by the write that failed, with its cause', async (t) => {
  const failures: JournalFailure[] = []
  const { disk, journal } = await opened(t, { onFailure: (failure) => failures.push(failure) })
  const failed = disk.failView()
  await append(journal, step('a', 2))
  const settled = journal.settled()
  await failed
  t.throws(() => journal.actor('run_request', 'z'), JournalFailure)
  t.same(failures, [])
  disk.tell()
  await t.rejects(settled, { name: 'JournalFailure' })
  t.match(failures, [{ message: 'the view could not be written: Input/output error' }])
})

t.test(
  'when no write reports a failure, the refused read does so once, a second later and after other reports',
  async (t) => {
    const failures: JournalFailure[] = []
    const late: (() => void)[] = []
    const setTimer = (callback: () => void, afterMs: number) =>
      afterMs === 1_000 ? late.push(callback) : systemPlatform.setTimer(callback, afterMs)
    const platform = { ...systemPlatform, setTimer }
    const { disk, journal } = await opened(t, { onFailure: (failure) => failures.push(failure), platform })
    disk.fail()
    for (let i = 0; i < 3; i += 1) t.throws(() => journal.actor('run_request', 'z'), JournalFailure)
    t.equal(late.length, 1)
    t.same(failures, [])
    late[0]!()
    t.same(failures, [])
    await new Promise(setImmediate)
    t.match(failures, [{ message: new RegExp(`stored data cannot be read: ${PANIC_AGAIN}`) }])
    t.equal(journal.refuses(), 'read_only')
  },
)

t.test('a damaged page is reported with its file and advice', async (t) => {
  const failed = new Promise<JournalFailure>((resolve) => {
    opened(t, { onFailure: resolve }).then(({ disk, journal }) => {
      disk.fail(DAMAGE[0])
      t.throws(() => journal.actor('run_request', 'z'), JournalFailure)
    }, t.threw)
  })
  t.match((await failed).message, /cannot be read: .*home\/view is damaged \(MDB_CORRUPTED: .*restore a backup/)
})

t.test('any other error of a read is thrown unchanged', async (t) => {
  const { disk, journal } = await opened(t, { onFailure: () => {} })
  disk.fail('MDB_BAD_VALSIZE: Unsupported size of key/DB name/data')
  t.throws(() => journal.actor('run_request', 'z'), { name: 'Error', message: /^MDB_BAD_VALSIZE/ })
})
