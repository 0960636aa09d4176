/**
 * The mechanical rules of the sources: which folder may import which, no cycles, no dead files or exports, a limit on
 * file length, and a single place of import for each library that must stay at the edge.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import t from 'tap'

const root = process.cwd()

/** A folder imports only from itself and from folders that follow it in this list. */
const layers = ['cli', 'console', 'engine', 'http', 'runtime', 'storage', 'machines']
/** What use the service over HTTP, like any other client. */
const clients = ['console', 'engine']
const product = new Set(layers)
const outside = ['test', 'bench']

/** Libraries that only few places may import, and those places. */
const confined: Record<string, RegExp> = {
  'uWebSockets.js': /^(http\/wire\/uws\.ts|bench\/.*)$/,
  xstate: /^(machines\/.*|runtime\/stepper\.ts|test\/.*|bench\/.*)$/,
  lmdb: /^(storage\/.*|bench\/.*|test\/storage\/.*)$/,
  typebox: /^(machines\/schema(-parts)?\.ts|test\/machines\/schema-parts\.test\.ts)$/,
  ajv: /^(machines\/(schema|validators)\.ts|test\/http\/.*)$/,
  'ajv-formats': /^(machines\/validators\.ts|test\/http\/.*)$/,
  pino: /^(http|test)\/.*$/,
  'prom-client': /^(http\/((file-)?metrics|meters|routes\/(polls|watch))\.ts|test\/.*)$/,
  commander: /^cli\/.*$/,
  preact: /^console\/.*\.tsx?$/,
  jsdom: /^test\/console\/.*$/,
  undici: /^engine\/proxy\.ts$/,
  '@redocly': /^test\/http\/lint\.test\.ts$/,
}
// Clients of the systems that we are benchmarked against: never in the product.
for (const peer of ['bullmq', 'ioredis', 'pg', 'pg-boss', 'graphile-worker', '@nats-io', 'jackd', 'amqplib'])
  confined[peer] = /^bench\/peers\/drivers\/.*$/

/**
 * What storage offers to the folders above besides the journal, and to whom; everything else goes through the
 * `Journal`.
 */
const doors: Record<string, RegExp> = {
  'storage/checked-text.ts': /^runtime\/record\.ts$/,
  'storage/journal.ts': /^(http|runtime)\//,
  'storage/log/log-identity.ts': /^runtime\/stream\//,
  'storage/platform.ts': /^(http|runtime)\//,
  'storage/read-fault.ts': /^(http\/faults|runtime\/stream\/(event-stream|find-events))\.ts$/,
  'storage/open-journal.ts': /^(http\/service|runtime\/offline\/offline)\.ts$/,
  'storage/home/home-paths.ts': /^http\/(admin-token|run-key|resources\/backups|file-metrics)\.ts$/,
  'storage/files/flush.ts': /^http\/(admin-token|run-key)\.ts$/,
  'storage/files/free-descriptors.ts': /^http\/open-files\.ts$/,
  'storage/copies/backup.ts': /^http\/resources\/backups\.ts$/,
  'storage/copies/backup-manifest.ts': /^http\/resources\/backups\.ts$/,
  'storage/home/home-checks.ts': /^http\/run-key\.ts$/,
  'storage/home/home-refused.ts': /^http\/(run-key|resources\/backups)\.ts$/,
  'storage/verify/findings.ts': /^runtime\/offline\/verify-hooks\.ts$/,
  'storage/copies/import.ts': /^runtime\/offline\/import\.ts$/,
}

/** The maximum number of lines in a source file of the product. */
const fileLinesMax = 400

function sourcesUnder(folder: string): string[] {
  let entries: string[]
  try {
    entries = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  } catch {
    return []
  }
  return entries.filter((name) => /(?<!\.d)\.tsx?$/.test(name)).map((name) => join(folder, name))
}

const files = [...layers, ...outside].flatMap(sourcesUnder)
const sources = new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]))
const scripts: Readonly<Record<string, string>> = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')).scripts

/** What the pattern's only group matches in the texts. */
const namedIn = (texts: readonly string[], pattern: RegExp): string[] =>
  texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name!))

/** Where the product begins: its binary, and the script of its page. */
const begins = ['cli/main.ts', 'console/main.tsx']

/** Files that are started by name and imported by nothing: the product, scripts of the package, and processes. */
const started = new Set([
  ...begins,
  ...namedIn(Object.values(scripts), /dist\/((?:test|bench)\/[\w/-]+)\.js/g).map((path) => `${path}.ts`),
  // Started by hand, as test/hostile/README.md says.
  'test/hostile/timing.ts',
  // Started by test/run.ts.
  'test/in-turn.ts',
  // Started by test/crash/damages.ts.
  'test/crash/verifier.ts',
  // Started by test/simulation/crew.ts, which it imports.
  'test/simulation/worker.ts',
  // Named in bench/child.ts and others of bench.
  ...namedIn(
    files.filter((file) => file.startsWith('bench/')).map((file) => sources.get(file)!),
    /'(\.\/[\w/-]+)\.js'/g,
  ).map((path) => join('bench', `${path}.ts`)),
])

const isEntry = (file: string): boolean =>
  started.has(file) || /\.test\.ts$/.test(file) || /^test\/.*-child\.ts$/.test(file)

interface Imports {
  readonly local: { readonly file: string; readonly typeOnly: boolean }[]
  readonly packages: string[]
}

function importsOf(file: string, source: string): Imports {
  const local: Imports['local'] = []
  const packages: string[] = []
  const pattern =
    /(?:^|\n)\s*(import|export)\s+(type\s)?[^'"`;]*?from\s+'([^']+)'|import\(\s*'([^']+)'\s*\)|(?:^|\n)import\s+'([^']+)'/g
  for (const match of source.matchAll(pattern)) {
    const specifier = match[3] ?? match[4] ?? match[5]!
    if (specifier.startsWith('.')) {
      const target = relative(root, resolve(root, dirname(file), specifier))
      local.push({ file: target, typeOnly: match[2] !== undefined })
    } else packages.push(specifier)
  }
  // The file of a thread or process is named by its starter as it is called in the build.
  for (const [, begun] of source.matchAll(/new URL\('(\.\/[^']+)\.js', import\.meta\.url\)/g))
    local.push({ file: relative(root, resolve(root, dirname(file), `${begun}.ts`)), typeOnly: false })
  return { local, packages }
}

const graph = new Map([...sources].map(([file, source]) => [file, importsOf(file, source)]))
const folderOf = (file: string): string => file.split('/')[0]!

t.ok(files.length > 0, 'the sources are found')

t.test('a folder imports only from folders below it', async (t) => {
  const wrong: string[] = []
  for (const [file, { local }] of graph) {
    const from = layers.indexOf(folderOf(file))
    if (from < 0) continue
    for (const { file: target } of local)
      if (layers.indexOf(folderOf(target)) < from) wrong.push(`${file} -> ${target}`)
  }
  t.same(wrong, [])
})

t.test('the service uses storage only through the journal and a few listed modules', async (t) => {
  const wrong: string[] = []
  for (const [file, { local }] of graph)
    if (['http', 'runtime'].includes(folderOf(file)))
      for (const { file: target } of local)
        if (folderOf(target) === 'storage' && doors[target]?.test(file) !== true) wrong.push(`${file} -> ${target}`)
  t.same(wrong, [])
})

t.test('the engine and the console do not import the service, nor each other', async (t) => {
  const wrong: string[] = []
  for (const [file, { local }] of graph)
    if (clients.includes(folderOf(file)))
      for (const { file: target } of local)
        if (![folderOf(file), 'machines'].includes(folderOf(target))) wrong.push(`${file} -> ${target}`)
  t.same(wrong, [])
})

t.test('every import names a file that exists', async (t) => {
  const wrong: string[] = []
  for (const [file, { local }] of graph)
    for (const { file: target } of local) if (!sources.has(target)) wrong.push(`${file} -> ${target}`)
  t.same(wrong, [])
})

t.test('there are no import cycles', async (t) => {
  const state = new Map<string, 'open' | 'done'>()
  const cycles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (state.get(file) === 'done') return
    if (state.get(file) === 'open') {
      cycles.push([...path.slice(path.indexOf(file)), file].join(' -> '))
      return
    }
    state.set(file, 'open')
    for (const { file: target, typeOnly } of graph.get(file)?.local ?? []) if (!typeOnly) visit(target, [...path, file])
    state.set(file, 'done')
  }
  for (const file of graph.keys()) visit(file, [])
  t.same(cycles, [])
})

t.test('there are no dead files', async (t) => {
  const reachedFrom = (entries: readonly string[]): ReadonlySet<string> => {
    const reached = new Set<string>()
    const reach = (file: string): void => {
      if (reached.has(file)) return
      reached.add(file)
      for (const { file: target } of graph.get(file)?.local ?? []) reach(target)
    }
    for (const entry of entries) reach(entry)
    return reached
  }
  const reached = reachedFrom(files.filter(isEntry))
  t.same(
    files.filter((file) => !reached.has(file)),
    [],
  )
  const used = reachedFrom(begins)
  t.same(
    files.filter((file) => product.has(folderOf(file)) && !used.has(file)),
    [],
    'everything in the product is reached from its binary or its page',
  )
})

t.test('every file that is started by name exists', async (t) => {
  t.ok(started.size > 20)
  t.same(
    [...started].filter((file) => !sources.has(file)),
    [],
  )
})

/** Names that a source exports, in either form. */
function exportsOf(source: string): string[] {
  const made = /(?:^|\n)export (?:async |abstract )?(?:const|let|function\*?|class|interface|type) (\w+)/g
  const listed = namedIn([source], /(?:^|\n)export (?:type )?\{([^}]*)\}/g).flatMap((names) => names.split(','))
  const names = listed.map(
    (name) =>
      name
        .trim()
        .replace(/^type /, '')
        .split(' as ')
        .at(-1)!,
  )
  return [...namedIn([source], made), ...names.filter((name) => name !== '')]
}

t.test('there are no dead exports', async (t) => {
  const words = new Map([...sources].map(([file, source]) => [file, new Set(source.match(/\w+/g))]))
  const importers = new Map<string, string[]>()
  for (const [file, { local }] of graph)
    for (const { file: target } of local) importers.set(target, [...(importers.get(target) ?? []), file])
  const isNamed = (file: string, name: string): boolean =>
    (importers.get(file) ?? []).some((importer) => words.get(importer)!.has(name))
  const dead = files
    .filter((file) => product.has(folderOf(file)))
    .flatMap((file) =>
      exportsOf(sources.get(file)!).flatMap((name) => (isNamed(file, name) ? [] : [`${file}: ${name}`])),
    )
  t.same(dead, [], 'every export of a product file is used by a file that imports it')
})

t.test('every file that the product starts as a thread or process is in the bundle', async (t) => {
  const shipped = scripts['bundle:program']!.split(' ').filter((word: string) => word.endsWith('.ts'))
  const started = files.flatMap((file) => {
    if (!product.has(file.split('/')[0]!)) return []
    const named = sources.get(file)!.matchAll(/new URL\('(\.[^']+)\.js', import\.meta\.url\)/g)
    return [...named].map(([, path]) => join(dirname(file), `${path}.ts`))
  })
  t.ok(started.length > 0)
  t.same(shipped.sort(), ['cli/main.ts', ...started].sort())
})

t.test('a test mirrors the path of its source', async (t) => {
  const wrong: string[] = []
  let count = 0
  for (const file of files) {
    // Tests of http are grouped by what is requested, and seldom have a single source.
    const [, folder, name] =
      /^test\/((?:machines|storage|runtime|engine|cli|console)(?:\/.+)?)\/([^/]+)\.test\.ts$/.exec(file) ?? []
    if (folder === undefined || sources.has(`${folder}/${name}.ts`)) continue
    count += 1
    for (const source of sources.keys()) {
      const below = source.startsWith(`${folder}/`) ? source.slice(folder.length + 1) : ''
      if (below.endsWith(`/${name}.ts`) || below.replaceAll('/', '-') === `${name}.ts`) wrong.push(`${file}: ${source}`)
    }
  }
  t.ok(count > 20, 'tests that cover more than one file')
  t.same(wrong, [])
})

t.test('restricted libraries are imported only where they belong', async (t) => {
  const wrong: string[] = []
  for (const [file, { packages }] of graph)
    for (const name of packages) {
      const owner = Object.keys(confined).find((library) => name === library || name.startsWith(`${library}/`))
      if (owner !== undefined && !confined[owner]!.test(file)) wrong.push(`${file} -> ${name}`)
    }
  t.same(wrong, [])
})

t.test('machines use no clock, randomness, input or output', async (t) => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bperformance\.now\b|\brandomBytes\b|\brandomUUID\b|from 'node:(fs|net|http|child_process|timers|os)/
  t.same(
    [...sources].filter(([file, source]) => folderOf(file) === 'machines' && impure.test(source)).map(([file]) => file),
    [],
  )
})

t.test('handlers of http continue after a promise only through their exchange', async (t) => {
  const isHandlers = (file: string): boolean => folderOf(file) === 'http' && file !== 'http/wire/exchange.ts'
  t.same(
    [...sources].filter(([file, source]) => isHandlers(file) && /\.then\(/.test(source)).map(([file]) => file),
    [],
  )
})

t.test('no product file exceeds the maximum number of lines', async (t) => {
  const long = [...sources]
    .map(([file, source]) => ({ file, lines: source.split('\n').length - 1 }))
    .filter(({ file, lines }) => product.has(folderOf(file)) && lines > fileLinesMax)
  t.same(long, [])
})

t.test('no source has a note about unfinished work', async (t) => {
  const notes = new RegExp(`\\b(${['TO', 'DO'].join('')}|${['FIX', 'ME'].join('')}|${['X', 'XX'].join('')})\\b`)
  t.same(
    [...sources].filter(([, source]) => notes.test(source)).map(([file]) => file),
    [],
  )
})
