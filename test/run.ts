/**
 * Runs test files concurrently, and prints a line for each that passed; for each that failed its output without the
 * passed checks, so that a truncated log still shows the failure; and the sum of all checks as the last line. A file
 * runs as `node FILE` would run it, several short ones in one process (`in-turn.ts`). Tap's own runner loads coverage
 * hooks into every process, and by NODE_OPTIONS into every process that a test starts: half a second of CPU each, and a
 * service that differs from the one that users start. `npx tap FILE` runs one file with them, and shows a failure in the
 * sources.
 *
 *   node dist/test/run.js [FILE ...]     without files: all of them
 */
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { COUNTS, type Counts, type Result, resultsIn } from './results.ts'

const root = fileURLToPath(new URL('.', import.meta.url))
/** One more than cores, because many tests wait for processes, disks and deadlines. */
const JOBS = availableParallelism() + 1
/**
 * Its files mostly wait for graces and deadlines of the processes that they start (`stopping.test` uses 5 s of CPU in a
 * minute): one of them runs beside the others until there are none.
 */
const WAITING = 'engine/agent/'
/** A crash test takes up to a minute on two idle cores, and CI machines are not idle. */
const TEST_SECONDS_MAX = 600
/** Tap ends a test that takes too long and names it; this ends a file that does not react to that. */
const FILE_MS_MAX = (TEST_SECONDS_MAX + 60) * 1_000
/** How long the output of a test that has ended may stay open. */
const LEFT_MS = 10_000
/**
 * Most processes live for a few seconds: they would spend a sixth of their time collecting a small young generation,
 * and another on optimizing code that runs hardly longer than that takes. The engine of Node.js 24 does not know the
 * second option, and refuses to start with it.
 */
const NODE_OPTIONS = ['--min-semi-space-size=16', '--interrupt-budget=300000'].filter(
  (option) => spawnSync(process.execPath, [option, '--version']).status === 0,
)
/** Folders with long tests are run first, so that no core is left alone with the last of them. */
const LONG = ['simulation', 'crash', 'hostile', 'cli', 'upgrade', 'storage']

const SHIPPED = ['cli', 'engine', 'http', 'runtime', 'storage', 'machines']

/** Folders whose files share processes, those of `WAITING` among themselves. */
const SHARING = ['bench', 'cli', 'engine', 'http', 'machines', 'runtime', 'storage']
/** Files in one process: enough to spread the cost of its start, few enough to keep every core busy at the end. */
const SHARED_MAX = 6
/** The same for those of `WAITING`, which take longest: what the last process has begun, no other can take over. */
const WAITING_MAX = 4
/**
 * What a file may not do in a process that others use too: set something for all tests of the process, change the
 * process, measure it or what it has loaded, or compare with a snapshot, which tap finds by the file that the process
 * was started with.
 */
const NEEDS_A_PROCESS =
  /^t\.(?!test\()|process\.(chdir|memoryUsage|on)\b|process\.env\.\w+ = |syncBuiltinESMExports|createRequire|[sS]napshot\(/m

const PASSED = /^ *ok \d/

function testFiles(): string[] {
  const found = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.test.js'))
  const rank = (name: string): number => {
    const place = LONG.indexOf(name.split('/')[0]!)
    return place < 0 ? LONG.length : place
  }
  return found.sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1)).map((name) => root + name)
}

function isWaiting(file: string): boolean {
  return relative(root, file).startsWith(WAITING)
}

/** The files by process, in their order. */
function byProcess(files: readonly string[]): string[][] {
  const processes: string[][] = []
  const open = new Map<string, string[]>()
  for (const file of files) {
    const folder = isWaiting(file) ? WAITING : relative(root, dirname(file)).split('/')[0]!
    if (!SHARING.includes(folder.split('/')[0]!) || NEEDS_A_PROCESS.test(readFileSync(file, 'utf8'))) {
      processes.push([file])
      continue
    }
    const shared = open.get(folder)
    if (shared !== undefined && shared.length < (folder === WAITING ? WAITING_MAX : SHARED_MAX)) {
      shared.push(file)
      continue
    }
    const begun = [file]
    open.set(folder, begun)
    processes.push(begun)
  }
  return processes
}

/** Runs the files in one process; resolves to their results. */
function run(files: readonly string[]): Promise<Result[]> {
  return new Promise((resolve) => {
    const child = spawn(process.execPath, [...NODE_OPTIONS, `${root}in-turn.js`, ...files], {
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
      resolve(resultsIn(output, files, code === 0 && !hasLeft))
    })
  })
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
const processes = byProcess(files)
const waiting = processes.filter(([file]) => isWaiting(file!))
const working = processes.filter(([file]) => !isWaiting(file!))
const sum: Counts = { total: 0, pass: 0, fail: 0, skip: 0, todo: 0 }
const failed: string[] = []
const from = performance.now()

function report({ file, output, counts, hasPassed, seconds }: Result): void {
  for (const name of COUNTS) sum[name] += counts[name]
  console.log(`${hasPassed ? 'ok' : 'not ok'} ${file} # ${counts.pass} of ${counts.total}, ${seconds} s`)
  if (hasPassed) return
  failed.push(file)
  const lines = output.split('\n')
  console.log(lines.filter((line) => !PASSED.test(line)).join('\n'))
}

async function work(take: () => string[] | undefined): Promise<void> {
  for (let files = take(); files !== undefined; files = take()) for (const result of await run(files)) report(result)
}

await Promise.all([
  work(() => waiting.shift()),
  ...Array.from({ length: JOBS }, () => work(() => working.shift() ?? waiting.shift())),
])
console.log(
  `# ${files.length} files in ${((performance.now() - from) / 1_000).toFixed(0)} s, ${JOBS} at a time, and ${WAITING} beside them`,
)
for (const file of failed) console.log(`# failed: ${file}`)
console.log(
  `# { ${COUNTS.filter((name) => sum[name] > 0)
    .map((name) => `${name}: ${sum[name]}`)
    .join(', ')} }`,
)
process.exitCode = failed.length === 0 ? 0 : 1
