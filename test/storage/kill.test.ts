import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { openDiskJournal } from '../../storage/open-journal.ts'
import { verify } from '../../storage/verify/verify.ts'
import { modelAfter } from './kill-model.ts'
import { state } from './steps.ts'

const KILLS = 20
const script = (name: string) => fileURLToPath(new URL(`./${name}.js`, import.meta.url))

/** Starts the script, kills it once `until` accepts its output, and returns its last complete line. */
async function runAndKill(name: string, home: string, lifeMs: number): Promise<number> {
  const child: ChildProcess = spawn(process.execPath, [script(name), home], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout!.on('data', (chunk) => {
    output += chunk
  })
  await once(child.stdout!, 'data')
  setTimeout(() => child.kill('SIGKILL'), lifeMs)
  const [, signal] = await once(child, 'close')
  if (signal !== 'SIGKILL') throw new Error(`${name} ended by itself`)
  return Number(output.split('\n').at(-2))
}

async function check(t: Test, home: string, acknowledged: number): Promise<void> {
  const journal = await openDiskJournal({ home, diskReserveBytes: 1, onFailure: (failure) => t.fail(failure.message) })
  const { batch, sequence } = journal.applied
  t.ok(batch >= acknowledged, `batch ${batch}, acknowledged ${acknowledged}`)
  const { model, events } = modelAfter(batch)
  t.equal(journal.lastSequence, events)
  t.equal(sequence, events)
  for (const [id, { version }] of model) {
    t.equal(JSON.parse(journal.actor('run_request', id) ?? '{}').v, version, id)
    t.equal(journal.reservation(id, 'k'), String(version))
  }
  for (const value of ['queued', 'offered', 'started', 'completed']) {
    const expected = [...model].filter(([, { at }]) => at === value).map(([id]) => id)
    const query = { kind: 'run_request', index: state(value).index, value, limit: 100, reverse: false }
    t.same(
      (await journal.list(query)).rows.map(({ id }) => id),
      expected.sort(),
    )
    t.equal(journal.count('run_request', 'state', value), expected.length)
  }
  t.equal(journal.timers(0, 1e9, 1_000).length, model.size)
  t.equal([...journal.outbox()].length, model.size)
  t.equal(journal.history('item', 'wi_1', 0, 1e9).length, events)
  t.same((await verify(journal.environments)).findings, [])
  await journal.close()
}

t.test('after a kill at any moment, everything acknowledged is there and the home verifies', async (t) => {
  const home = join(t.testdir(), 'home')
  for (let kill = 0; kill < KILLS; kill += 1) {
    const acknowledged = await runAndKill('kill-child', home, 3 + Math.random() * 120)
    await check(t, home, acknowledged)
  }
})

t.test('a disk that fills under the view is one failure with its cause, and does not kill the process', async (t) => {
  const home = join(t.testdir(), 'home')
  // Files may not grow past this limit, and the signal for it is ignored: writes fail as on a full disk.
  const command = `trap '' XFSZ; ulimit -f 4096; exec "${process.execPath}" "${script('full-disk-child')}" "${home}"`
  const child = spawn('sh', ['-c', command], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code, signal] = await once(child, 'close')
  t.match(
    { code, signal, output },
    { code: 0, signal: null, output: /^the view could not be written: .*\nread_only\n$/ },
  )
})

t.test(
  'after a kill, a batch of the view is there completely or not at all: lmdb `batch` is one transaction',
  async (t) => {
    const { open } = await import('lmdb')
    const home = join(t.testdir(), 'home')
    for (let kill = 0; kill < 5; kill += 1) {
      const acknowledged = await runAndKill('batch-child', home, 20 + Math.random() * 60)
      const env = open({ path: home, overlappingSync: false, maxDbs: 4 })
      const generations = new Set(
        [...env.openDB<string, number>('rows', { encoding: 'string' }).getRange()].map(({ value }) => value),
      )
      t.equal(generations.size, 1, 'every row is of one generation')
      t.ok(Number([...generations][0]) >= acknowledged)
      await env.close()
    }
  },
)
