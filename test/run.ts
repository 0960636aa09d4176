/**
 * Runs test files concurrently, each as `node FILE`, and prints a line for each that passed; for each that failed its
 * output without the passed checks, so that a truncated log still shows the failure; and the sum of all checks as the
 * last line. Tap's own runner loads coverage hooks into every process, and by NODE_OPTIONS into every process that a
 * test starts: half a second of CPU each, and a service that differs from the one that users start. `npx tap FILE` runs
 * one file with them, and shows a failure in the sources.
 *
 *   node dist/test/run.js [FILE ...]     without files: all of them
 */
import { spawn } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('.', import.meta.url))
/** One more than cores, because many tests wait for processes, disks and deadlines. */
const JOBS = availableParallelism() + 1
/** A crash test takes up to a minute on two idle cores, and CI machines are not idle. */
const TEST_SECONDS_MAX = 600
/** Tap ends a test that takes too long and names it; this ends a file that does not react to that. */
const FILE_MS_MAX = (TEST_SECONDS_MAX + 60) * 1_000
/** How long the output of a test that has ended may stay open. */
const LEFT_MS = 10_000
/**
 * Most processes live for a second or two, and would spend a sixth of their time collecting a small young generation.
 */
const NODE_OPTIONS = ['--min-semi-space-size=16']
/** Folders with long tests are run first, so that no core is left alone with the last of them. */
const LONG = ['simulation', 'crash', 'hostile', 'cli', 'upgrade', 'storage']

const SHIPPED = ['cli', 'engine', 'http', 'runtime', 'storage', 'machines']

const PASSED = /^ *ok \d/
const SUM = /^# \{ total: .*\}$/gm
const COUNTS = ['total', 'pass', 'fail', 'skip', 'todo'] as const
type Counts = Record<(typeof COUNTS)[number], number>

interface Result {
  readonly file: string
  readonly output: string
  readonly counts: Counts
  readonly hasPassed: boolean
  readonly seconds: number
}

function testFiles(): string[] {
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js'))
  const rank = (name: string): number => {
    const place = LONG.indexOf(name.split('/')[0]!)
    return place < 0 ? LONG.length : place
  }
  return found.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).map((name) => root + name)
}

function run(file: string): Promise<Result> {
  const from = performance.now()
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...NODE_OPTIONS, file], {
      env: { ...process.env, TAP_TIMEOUT: String(TEST_SECONDS_MAX) },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    const timer = setTimeout(() => child.kill('SIGKILL'), FILE_MS_MAX)
    // A process left behind by the test may keep its output open for ever.
    let left: NodeJS.Timeout | undefined
    let hasLeft = false
    child.on('exit', () => {
      left = setTimeout(() => {
        hasLeft = true
        child.stdout.destroy()
        child.stderr.destroy()
      }, LEFT_MS)
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      clearTimeout(left)
      if (hasLeft) output += '\nthe test has left a process behind, which holds its output\n'
      if (signal !== null) output += `\nthe test ended by ${signal}\n`
      const counts = countsIn(output)
      const isWhole = code === 0 && counts.fail === 0 && counts.total > 0 && !hasLeft
      // A file that ended in the middle of its checks has failed, whatever it had counted until then.
      if (!isWhole && counts.fail === 0) counts.fail = 1
      const seconds = (performance.now() - from) / 1_000
      resolve({ file: relative(process.cwd(), file), output, counts, hasPassed: isWhole, seconds })
    })
  })
}

/** The last counts that the file printed. */
function countsIn(output: string): Counts {
  const sum = [...output.matchAll(SUM)].at(-1)?.[0] ?? ''
  const count = (name: string): number => Number(new RegExp(` ${name}: (\\d+)`).exec(sum)?.[1] ?? 0)
  return Object.fromEntries(COUNTS.map((name) => [name, count(name)])) as Counts
}

/** Tests of whole processes start the bundle, which must be newer than the compiled code. */
function requireBundle(): void {
  const compiled = SHIPPED.flatMap((folder) => modulesUnder(`${root}../${folder}`))
  const newestMs = Math.max(...compiled.map((file) => statSync(file).mtimeMs))
  const bundle = statSync(`${root}../bin/main.js`, { throwIfNoEntry: false })
  if (bundle !== undefined && bundle.mtimeMs >= newestMs) return
  console.error('dist/bin is older than what it is made of: npm run build')
  process.exit(1)
}

function modulesUnder(folder: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.js')).map((name) => `${folder}/${name}`)
}

requireBundle()
const files = process.argv.length > 2 ? process.argv.slice(2) : testFiles()
const sum: Counts = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
const failed: string[] = []
let next = 0
const from = performance.now()

async function work(): Promise<void> {
  while (next < files.length) {
    const { file, output, counts, hasPassed, seconds } = await run(files[next++]!)
    for (const name of COUNTS) sum[name] += counts[name]
    const word = hasPassed ? 'ok' : 'not ok'
    console.log(`${word} ${file} # ${counts.pass} of ${counts.total}, ${seconds.toFixed(1)} s`)
    if (hasPassed) continue
    failed.push(file)
    const lines = output.split('\n')
    console.log(lines.filter((line) => !PASSED.test(line)).join('\n'))
  }
}

await Promise.all(Array.from({ length: JOBS }, work))
console.log(`# ${files.length} files in ${((performance.now() - from) / 1_000).toFixed(0)} s, ${JOBS} at a time`)
for (const file of failed) console.log(`# failed: ${file}`)
console.log(
  `# { ${COUNTS.filter((name) => sum[name] > 0)
    .map((name) => `${name}: ${sum[name]}`)
    .join(', ')} }`,
)
process.exitCode = failed.length === 0 ? 0 : 1
