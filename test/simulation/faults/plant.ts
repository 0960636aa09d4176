/**
 * `npm run simulate:faults`: plants each fault in a scratch copy of what is built, runs seeds until one finds it, and
 * prints the table. `-- --only words` plants those whose name has these words; `--seeds` bounds the search, `--workers`
 * its processes. Ends with 1 if a fault was not found.
 */
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { commandLine, whole } from '../../command-line.ts'
import { type Edit, type Fault, faults } from './faults.ts'

const USAGE = `npm run simulate:faults -- [--only WORDS] [--seeds N] [--from N] [--workers N]

  --only WORDS  faults whose name has these words (all)
  --seeds N     at most so many for each (3000)
  --from N      the first of them (1)
  --workers N   processes (one a core)`

const values = commandLine(USAGE, {
  seeds: { type: 'string', default: '3000' },
  from: { type: 'string', default: '1' },
  only: { type: 'string', default: '' },
  workers: { type: 'string', default: String(availableParallelism()) },
})
whole(USAGE, '--seeds', values.seeds, 1)
whole(USAGE, '--from', values.from)
whole(USAGE, '--workers', values.workers, 1)

const root = process.cwd()
/** The parts of the build that the simulation runs. */
const PARTS = ['cli', 'engine', 'http', 'runtime', 'storage', 'machines', 'test/simulation', 'test/command-line.js']
/** A file is compiled by itself, as in `tsconfig.json`, without its imports. */
const ALONE = [
  '--ignoreConfig',
  '--noCheck',
  '--noResolve',
  '--verbatimModuleSyntax',
  '--rewriteRelativeImportExtensions',
]
const TARGET = ['--target', 'ES2023', '--module', 'esnext']

interface Found {
  readonly fault: Fault
  /** Undefined: no seed found it. */
  readonly seed: number | undefined
  readonly seeds: number
  readonly by: string
}

const scratch = mkdtempSync(join(tmpdir(), 'faults-'))
try {
  process.exitCode = await plantAll()
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

async function plantAll(): Promise<number> {
  for (const part of PARTS) cpSync(join(root, 'dist', part), join(scratch, 'dist', part), { recursive: true })
  for (const file of ['node_modules', 'package.json']) symlinkSync(join(root, file), join(scratch, file))
  console.log('| Fault | Found by seed | Seeds run | By the promise |\n|---|---|---|---|')
  const found: Found[] = []
  for (const fault of faults.filter(({ name }) => name.includes(values.only))) {
    const one = await search(fault)
    found.push(one)
    console.log(`| ${fault.name} | ${one.seed ?? 'NOT FOUND'} | ${one.seeds} | ${one.by} |`)
  }
  const missed = found.filter(({ seed }) => seed === undefined).length
  console.log(`\n${found.length} faults, ${missed} not found`)
  return missed === 0 ? 0 : 1
}

async function search(fault: Fault): Promise<Found> {
  const files = [...new Set(fault.edits.map(({ file }) => file))]
  try {
    build(new Map(files.map((file) => [file, planted(file, fault.edits)])))
    return await run(fault)
  } finally {
    build(new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')])))
  }
}

function planted(file: string, edits: readonly Edit[]): string {
  let source = readFileSync(join(root, file), 'utf8')
  for (const { from, to } of edits.filter((edit) => edit.file === file)) {
    if (source.split(from).length !== 2) throw new Error(`${file} does not hold this once:\n${from}`)
    source = source.replace(from, () => to)
  }
  return source
}

/** These files of the scratch build, by their names in the repository; types are not checked. */
function build(sources: ReadonlyMap<string, string>): void {
  const copies: string[] = []
  for (const [file, source] of sources) {
    const copy = join(scratch, 'sources', file)
    mkdirSync(dirname(copy), { recursive: true })
    writeFileSync(copy, source)
    copies.push(copy)
  }
  const folders = ['--rootDir', join(scratch, 'sources'), '--outDir', join(scratch, 'dist')]
  execFileSync(join(root, 'node_modules/.bin/tsc'), [...ALONE, ...TARGET, ...folders, ...copies], { stdio: 'inherit' })
}

function run(fault: Fault): Promise<Found> {
  const { seeds, from, workers } = values
  const args = ['dist/test/simulation/main.js', '--seeds', seeds, '--from', from, '--workers', workers, '--brief']
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { cwd: scratch, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
      })
    }
    child.on('error', reject)
    child.on('close', (code, signal) => {
      const said = /^seed (\d+): (?:Violation: )?([^:\n]*)/m.exec(output)
      const seeds = Number(/^(\d+) seeds from/m.exec(output)?.[1] ?? Number.NaN)
      if (said === null && Number.isNaN(seeds))
        reject(new Error(`${fault.name}: ended with ${code ?? signal}: ${output.slice(-2_000)}`))
      else resolve({ fault, seed: said === null ? undefined : Number(said[1]), seeds, by: said?.[2] ?? '' })
    })
  })
}
