/**
 * Homes of newer versions are refused by every command in the same words, and stay unchanged. The newer program is this
 * one with one machine's version raised and nothing else changed, which is all that a real one may have to do.
 */
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { modules } from '../../machines/index.ts'
import type { ActorKind } from '../../machines/machine.ts'
import { HEAD_MACHINES, HEAD_SCHEMA } from '../../storage/environments.ts'
import { openEnvironments } from '../../storage/home/home-environments.ts'
import { assertSchema, machineVersions, SCHEMA_VERSION } from '../../storage/home/written-by.ts'
import { SegmentedLog } from '../../storage/segments/segmented-log.ts'
import { tablesOf } from '../../storage/segments/tables.ts'
import { Indexes } from '../../storage/view/indexes.ts'
import { command } from '../cli/processes.ts'
import { failing } from '../failing-files.ts'
import { startOnDisk } from '../http/service-harness.ts'
import { rewriteLog } from '../storage/log-surgery.ts'
import { openIn } from '../storage/open.ts'
import { folders, schemaOf, unpack } from './unpack.ts'

const WORDS =
  /was written by a newer version of Intendant \((.*)\): start that version, or restore a backup from before the upgrade/

/** Makes this process the next version of the program until the returned function is called. */
function raised(t: Test, kind: ActorKind): () => void {
  const { version, migrations } = modules[kind]
  const put = (as: object): void => {
    Object.assign(modules[kind], as)
  }
  put({ version: version + 1, migrations: { ...migrations, [version]: (snapshot: unknown) => snapshot } })
  const lower = (): void => put({ version, migrations })
  t.teardown(lower)
  return lower
}

/** Hashes of the files of log and view. */
function contentOf(home: string): Record<string, string> {
  const files = ['log', 'view'].flatMap((part) => readdirSync(join(home, part)).map((name) => join(part, name)))
  // The lock file of LMDB records its readers.
  const kept = files.filter((name) => !name.endsWith('lock.mdb') && statSync(join(home, name)).isFile())
  return Object.fromEntries(
    kept.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(join(home, name)))
        .digest('hex'),
    ]),
  )
}

/** Every command names what is newer, and leaves the home unchanged. */
async function refusedByAll(t: Test, home: string, newer: string): Promise<void> {
  const before = contentOf(home)
  const scratch = `${home}.scratch`
  mkdirSync(scratch)
  for (const argv of [
    ['serve', '--home', home, '--port', '0'],
    ['verify', home],
    ['verify', home, '--json'],
    ['restore', home, '--home', join(scratch, 'restored')],
    ['restore', home, '--home', join(scratch, 'restored'), '--no-verify'],
    ['export', join(scratch, 'out'), '--home', home],
    ['import', join(scratch, 'none.jsonl'), '--home', home],
  ]) {
    const { code, out, err } = await command(...argv)
    // verify has a code of its own for a home that it did not check, which may be sound.
    t.equal(code, argv[0] === 'verify' ? 7 : 1, argv.join(' '))
    t.equal(WORDS.exec(err)?.[1], newer, `${argv.join(' ')}: ${err}`)
    t.match(err, home)
    t.notMatch(err + out, /damaged|unreadable/)
    t.equal(out, '')
  }
  t.notOk(existsSync(join(scratch, 'restored')))
  t.same(contentOf(home), before, 'nothing in it was touched')
}

t.test('a home of a newer schema is refused by every command with its schema', async (t) => {
  const home = `${t.testdir()}/home`
  unpack(folders.at(-1)!, home)
  rewriteLog(home, ({ head }) => Object.assign(head, { [HEAD_SCHEMA]: String(SCHEMA_VERSION + 1) }))
  await refusedByAll(t, home, `schema ${SCHEMA_VERSION + 1}, this program reads 1 to ${SCHEMA_VERSION}`)
})

t.test(
  "a home served by a program with a newer machine is refused by every command with the machine's version",
  async (t) => {
    const home = `${t.testdir()}/home`
    unpack(folders.at(-1)!, home)
    const { version } = modules.work_item
    const lower = raised(t, 'work_item')
    const next = await startOnDisk(t, home)
    await next.expect(201, 'POST', '/api/work-items', { project: 'demo', objective: 'Be of the next version.' })
    await next.service.close()
    lower()
    await refusedByAll(t, home, `work_item of version ${version + 1}; this program knows ${version}`)
    raised(t, 'work_item')
    t.equal((await (await startOnDisk(t, home)).expect(200, 'GET', '/api/work-items')).body.items.length, 2)
  },
)

t.test('opening a home names the machine that is newer, or that this program does not know', async (t) => {
  for (const [kind, version] of [...Object.entries(machineVersions()), ['of_tomorrow', 0] as const]) {
    const home = `${t.testdir({})}/${kind}`
    mkdirSync(join(home, 'log'), { recursive: true })
    const head = { [HEAD_SCHEMA]: String(SCHEMA_VERSION), last: '0 0', floor: '1', epoch: 'anepoch00000' }
    const noted = JSON.stringify({ ...machineVersions(), [kind]: version + 1 })
    rewriteLog(home, (content) => Object.assign(content.head, head, { [HEAD_MACHINES]: noted }))
    await t.rejects(openIn(t, home), { name: 'HomeRefused', code: 'schema_version', message: `${kind} of version` })
    t.notOk(existsSync(join(home, 'view')), 'nothing is created beside it')
  }
})

t.test('a newer log is refused even beside a view from before', async (t) => {
  const home = `${t.testdir()}/home`
  const first = await startOnDisk(t, home)
  await first.project('demo')
  await first.service.close()
  cpSync(join(home, 'view'), join(home, 'view.before'), { recursive: true })
  const lower = raised(t, 'project')
  const journal = await openIn(t, home)
  cpSync(home, `${home}.killed`, { recursive: true })
  await journal.close()
  lower()
  rmSync(join(`${home}.killed`, 'view'), { recursive: true })
  cpSync(join(home, 'view.before'), join(`${home}.killed`, 'view'), { recursive: true })
  await t.rejects(openIn(t, `${home}.killed`), { code: 'schema_version', message: /project of version/ })
})

t.test('a start killed at any moment leaves no record of a newer machine in a log that does not name it', async (t) => {
  for (const folder of ['', ...folders]) {
    const root = t.testdir({})
    const home = `${root}/home`
    if (folder !== '') unpack(folder, home)
    const lower = raised(t, 'project')
    const logs: string[] = []
    const look = (): undefined => {
      if (!existsSync(join(home, 'log'))) return
      const copy = `${root}/${logs.length}`
      cpSync(join(home, 'log'), copy, { recursive: true })
      logs.push(copy)
    }
    const stop = failing(t, 'writeSync', look)
    const next = await startOnDisk(t, home)
    await next.project('of-tomorrow')
    stop()
    look()
    await next.service.close()
    lower()
    const seen = logs.flatMap((path) => whatIsIn(path))
    const order = ['older', 'refused', 'refused with records']
    t.same([...new Set(seen)], folder === '' ? order.slice(1) : order, `${folder} ${seen}`)
  }
})

/** What a start finds that was killed before the next write to this log. */
function whatIsIn(path: string): readonly string[] {
  // In an older log that is being converted, or one whose first file is being created, machines have written nothing.
  if (existsSync(join(path, 'data.mdb'))) return ['older']
  let log: SegmentedLog
  try {
    log = new SegmentedLog(path, { readOnly: true })
  } catch {
    return []
  }
  try {
    const { head, redo } = tablesOf(log)
    if (head.get(HEAD_SCHEMA) === undefined) return []
    const hasRecords = [...redo.getRange()].some(({ value }) => value.includes('of-tomorrow'))
    try {
      assertSchema(head, path)
    } catch {
      return [hasRecords ? 'refused with records' : 'refused']
    }
    return [hasRecords ? 'NOT REFUSED' : 'older']
  } finally {
    void log.close()
  }
}

t.test('machine versions that programs of schema 3 noted in the view are checked too', async (t) => {
  const home = `${t.testdir()}/home`
  unpack('schema-3', home)
  const { version } = modules.campaign
  const { view, close } = await openEnvironments(home, () => {})
  const indexes = new Indexes(view)
  await indexes.note({ ...indexes.versions(), campaign: version + 1 })
  await close()
  await t.rejects(openIn(t, home), { code: 'schema_version', message: `campaign of version ${version + 1}` })
  const { code, err } = await command('verify', home)
  t.same([code, WORDS.exec(err)?.[1]], [7, `campaign of version ${version + 1}; this program knows ${version}`])
  t.equal(await schemaOf(home).catch(({ code }) => code), 'schema_version')
})

t.test('programs that check only the schema refuse a home that this one has served', async (t) => {
  for (const folder of folders) {
    const home = `${t.testdir({})}/${folder}`
    unpack(folder, home)
    const before = Number(await schemaOf(home))
    await (await openIn(t, home)).close()
    t.ok(before < SCHEMA_VERSION && Number(await schemaOf(home)) === SCHEMA_VERSION)
  }
})
