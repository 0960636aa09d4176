/** The check of the checks: whatever goes wrong in one of several files that share a process, the run fails and names it. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { resultsIn } from './results.ts'

const IN_TURN = fileURLToPath(new URL('in-turn.js', import.meta.url))
const TAP = "import t from 'tap'\n"
const GOOD = `${TAP}t.test('good', async (t) => { t.pass() })`

/** Whether each of these files, run in one process, has passed. */
function verdicts(t: Test, ...texts: string[]): boolean[] {
  const names = texts.map((_, n) => `${n}.mjs`)
  const folder = t.testdir(Object.fromEntries(names.map((name, n) => [name, texts[n]!])))
  const files = names.map((name) => join(folder, name))
  const { status, stdout, stderr } = spawnSync(process.execPath, [IN_TURN, ...files], { encoding: 'utf8' })
  const results = resultsIn(stdout + stderr, files, status === 0)
  for (const { counts, hasPassed } of results) t.equal(hasPassed, counts.fail === 0, 'the counts agree')
  return results.map(({ hasPassed }) => hasPassed)
}

const HAZARDS = {
  'whose check fails': [`${TAP}t.test('bad', async (t) => { t.fail() })`, [true, false, true]],
  'whose second test fails, which nobody awaits': [
    `${GOOD}\nt.test('bad', async (t) => { await new Promise((on) => setTimeout(on, 20)); t.fail() })`,
    [true, false, true],
  ],
  'that has no tests': ['export {}', [true, false, true]],
  'that throws when it is loaded': [`${GOOD}\nthrow new Error('at once')`, [true, false, false]],
  'that ends the process in the middle of its checks': [
    `${TAP}t.test('bad', async (t) => { t.pass(); process.exit(0) })`,
    [true, false, false],
  ],
  'whose callback throws what nobody catches': [
    `${TAP}t.test('bad', async (t) => { setTimeout(() => { throw new Error('stray') }); await new Promise((on) => setTimeout(on, 50)) })`,
    [true, false, false],
  ],
  'with a rejection that nobody handles': [
    `${TAP}t.test('bad', async (t) => { void Promise.reject(new Error('stray')); await new Promise((on) => setTimeout(on, 50)) })`,
    [true, false, false],
  ],
  'that bails out': [`${TAP}t.test('bad', async (t) => { t.bailout('no') })`, [true, false, false]],
} as const

for (const [what, [text, expected]] of Object.entries(HAZARDS))
  t.test(`a file ${what} fails, between two that pass`, async (t) => {
    t.strictSame(verdicts(t, GOOD, text, GOOD), expected)
  })

t.test('files that pass, pass', async (t) => {
  t.strictSame(verdicts(t, GOOD, `${TAP}t.test('without a check', async () => {})`, GOOD), [true, true, true])
})

t.test('a file whose tests are all skipped passes', async (t) => {
  const skipped = `${TAP}t.test('elsewhere', { skip: 'not here' }, async (t) => { t.fail() })`
  t.strictSame(verdicts(t, skipped, GOOD, skipped), [true, true, true])
  t.strictSame(verdicts(t, GOOD, `${skipped}\nprocess.exit(0)`), [true, false], 'unless it ends the process')
})

t.test('the folder of a test outlives what the test has started, whichever file is the first', async (t) => {
  const text = `${TAP}import { existsSync } from 'node:fs'
    t.test('uses a folder', async (t) => {
      const folder = t.testdir()
      t.teardown(() => existsSync(folder) || process.exit(1))
    })`
  t.strictSame(verdicts(t, text, GOOD), [true, true])
})

t.test('what fails once a file is over fails another, or the last', async (t) => {
  const late = `${GOOD}\nsetTimeout(() => { throw new Error('late') }, 300)`
  t.notOk(verdicts(t, late, GOOD).every(Boolean))
  t.notOk(verdicts(t, GOOD, `${TAP}t.test('bad', () => new Promise(() => {}))`).every(Boolean), 'it never ends')
})

t.test('a process that ends badly, or before it has counted, fails its last file', (t) => {
  const end = (file: string): string => `# file ${file}: {"tests":1,"total":1,"pass":1}, 0.1 s\n`
  const output = `${end('a')}${end('b')}# { total: 2, pass: 2 }\n`
  const passed = (...given: Parameters<typeof resultsIn>) => resultsIn(...given).map(({ hasPassed }) => hasPassed)
  t.strictSame(passed(output, ['a', 'b'], true), [true, true])
  t.strictSame(passed(output, ['a', 'b'], false), [true, false])
  t.strictSame(passed(`${end('a')}${end('b')}`, ['a', 'b'], true), [true, false])
  t.strictSame(passed(`${end('b')}# { total: 1, pass: 1 }\n`, ['a', 'b'], true), [false, true], 'each by its own word')
  const more = `${end('a')}${end('b')}# { total: 3, pass: 2, fail: 1 }\n`
  t.strictSame(passed(more, ['a', 'b'], false), [true, false], 'what was counted late')
  t.end()
})
