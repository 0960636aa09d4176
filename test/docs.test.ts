/** The operators' pages agree with the program: settings, metrics, tests, refusals. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { envOf, flagOf, SETTINGS } from '../cli/settings.ts'
import { VARIABLES } from '../engine/agent/settings.ts'
import { PROBLEM_CODES, problemDocument, problemTable } from '../http/problems.ts'
import { modules } from '../machines/index.ts'
import { ACTOR_KINDS, type ActorKind } from '../machines/machine.ts'
import { FINDING_CODES } from '../storage/verify/finding-codes.ts'
import { cli } from './cli/in-process.ts'
import { startTestService } from './http/service-harness.ts'

const run = promisify(execFile)
const page = (name: string): string => readFileSync(name, 'utf8')
const DECISIONS = 'docs/decisions'
const PAGES = ['.', 'docs', DECISIONS].flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name)),
)

/** The table of settings as OPERATIONS.md has it between its markers. */
function settingsTable(): string {
  const rows = SETTINGS.map((spec) => {
    const byDefault = spec.byDefault === undefined ? '' : `\`${spec.byDefault}\``
    return `| \`${flagOf(spec)}\` | \`${envOf(spec)}\` | \`${spec.name}\` | ${byDefault} | ${spec.help} |`
  })
  const head = ['| Flag | Environment | In config.json | Default | What it is |', '|---|---|---|---|---|']
  return `<!-- begin: made from the settings -->\n${[...head, ...rows].join('\n')}\n<!-- end -->`
}

t.test('OPERATIONS.md has the table of settings as made from the program', (t) => {
  t.ok(page('OPERATIONS.md').includes(settingsTable()), settingsTable())
  t.end()
})

/** The table of refusals as docs/ERRORS.md has it between its markers. */
function problemRows(): string {
  const rows = PROBLEM_CODES.map((code) => {
    const { status, title, action, retryAfterSeconds } = problemTable[code]
    const again = retryAfterSeconds === undefined ? '' : `after ${retryAfterSeconds} s`
    return `| ${status} | \`${code}\` | ${title} | ${action.replaceAll('<', '&lt;')} | ${again} |`
  })
  const head = ['| Status | Code | Means | Do | The same again |', '|---|---|---|---|---|']
  return `<!-- begin: made from http/problems.ts -->\n${[...head, ...rows].join('\n')}\n<!-- end -->`
}

t.test('docs/ERRORS.md has the table of refusals as made from the program, and a problem exactly as answered', (t) => {
  const text = page('docs/ERRORS.md')
  t.ok(text.includes(problemRows()), problemRows())
  const [, shown = ''] = /```json\n([^`]*)```/.exec(text) ?? []
  const { code, detail, instance } = JSON.parse(shown)
  t.same(JSON.parse(shown), problemDocument(code, detail, instance))
  t.end()
})

/** The table of findings as OPERATIONS.md has it between its markers. */
function findingsTable(): string {
  const rows = Object.entries(FINDING_CODES).map(([code, means]) => `| \`${code}\` | ${means} |`)
  const head = ['| Finding | Means |', '|---|---|']
  return `<!-- begin: made from storage/verify/finding-codes.ts -->\n${[...head, ...rows].join('\n')}\n<!-- end -->`
}

t.test('OPERATIONS.md has the table of findings as made from the program', (t) => {
  t.ok(page('OPERATIONS.md').includes(findingsTable()), findingsTable())
  t.end()
})

t.test('OPERATIONS.md names every metric of the program and no others', async (t) => {
  const s = await startTestService(t)
  const { body } = await s.expect(200, 'GET', '/metrics')
  const there = new Set([...(body as string).matchAll(/^# TYPE (intendant_\w+) /gm)].map((match) => match[1]!))
  const told = new Set(
    [...page('OPERATIONS.md').matchAll(/\bintendant_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
  )
  t.same([...told].sort(), [...there].sort())
})

t.test('the alerts of packaging/prometheus are those that OPERATIONS.md tells of, and no others', (t) => {
  const [, table = ''] = page('OPERATIONS.md')
    .split('\n### What to be woken by\n')[1]!
    .split(/\n\n(?=\|)/)
  const names = (text: string): string[] => [...new Set(text.match(/\b(?:intendant|process)_\w+|\bup\b/g))].sort()
  // The last line is about what another exporter tells.
  const told = [...table.split('\n\n')[0]!.matchAll(/^\| (`.*?) \| /gm)].map(([, when]) => when).join('\n')
  const rules = [...page('packaging/prometheus/intendant.rules.yml').matchAll(/^ +expr: '(.+)'$/gm)].map(
    ([, expr]) => expr,
  )
  t.ok(rules.length > 20)
  t.same(names(rules.join('\n')), names(told))
  t.end()
})

t.test('docs/RUNNERS.md lists every variable of `intendant agent` and no others', (t) => {
  const [, section = ''] = page('docs/RUNNERS.md').split('\n### A coding agent as its command\n')
  const told = [...section.matchAll(/^\| `([A-Z_]+)` \|/gm)].map(([, name]) => name)
  t.same(
    told,
    VARIABLES.map(({ name }) => name),
  )
  t.end()
})

t.test('no page passes a token to curl as an argument, where ps shows it', (t) => {
  t.ok(PAGES.length > 10)
  for (const name of PAGES) t.notMatch(page(name), /-H ["']Authorization/, name)
  t.end()
})

t.test('the commands for the second terminal in README.md work, and keep the tokens secret', async (t) => {
  const at = t.testdir({ '.engine': {}, bin: {} })
  const s = await startTestService(t, { home: join(at, '.engine') })
  const [, commands = ''] = /```sh\n(auth\(\)[^`]*)```/.exec(page('README.md')) ?? []
  t.match(commands, /run-requests/)
  const { stdout: curl } = await run('sh', ['-c', 'command -v curl'])
  const spy = join(at, 'bin', 'curl')
  writeFileSync(spy, `#!/bin/sh\nprintf '%s\\n' "$@" >> "$HOME/arguments"\nexec ${curl.trim()} "$@"\n`)
  chmodSync(spy, 0o755)
  const env = { HOME: at, PATH: `${join(at, 'bin')}:${process.env.PATH}` }
  await run('sh', ['-c', commands.replaceAll('http://127.0.0.1:7171', s.service.url)], { cwd: at, env })
  t.match((await s.expect(200, 'GET', '/api/projects/demo/run-requests')).body.items, [{ state: 'queued' }])
  const { token } = JSON.parse(page(join(at, 'runner.json')))
  t.equal(statSync(join(at, 'runner.json')).mode & 0o077, 0, "only the owner can read the runner's token")
  await s.expect(200, 'GET', '/api/runners/laptop', undefined, { token })
  const told = page(join(at, 'arguments'))
  t.match(told, /run-requests/)
  t.notOk(told.includes(s.admin))
})

/** The command lines in the code blocks of a page, each split into words, without what surrounds them. */
function shownCommands(name: string): string[][] {
  const blocks = [...page(name).matchAll(/^```(?:sh)?\n([\s\S]*?)^```$/gm)].map(([, text]) =>
    text!.replaceAll('\\\n', ' '),
  )
  const lines = blocks.flatMap((text) => [...text.matchAll(/(?:^|[\s;&|]|\.\/)intendant ((?:--)?[a-z].*)/gm)])
  return lines.map(([, line]) =>
    line!
      .split(/ {3,}|[#;|>)]|--exec /)[0]!
      .trim()
      .split(/ +/),
  )
}

t.test('every command in a code block of a page exists and has the options shown', async (t) => {
  const helps = new Map<string, string>()
  const help = async (...path: string[]): Promise<string> => {
    const key = path.join(' ')
    if (!helps.has(key)) helps.set(key, (await cli({}, ...path, '--help')).out)
    return helps.get(key)!
  }
  const knows = (text: string, command: string): boolean => new RegExp(`^  (\\S+\\|)?${command}[ |\n]`, 'm').test(text)
  let count = 0
  for (const name of PAGES) {
    for (const words of shownCommands(name)) {
      if (words[0] === '--home') words.splice(0, 2)
      const path = [words.shift()!]
      t.ok(knows((await help()).split('\nExamples:')[0]!, path[0]!), `${name}: ${path}`)
      const [, commands] = (await help(...path)).split('\nCommands:\n')
      if (commands !== undefined && /^[a-z-]+$/.test(words[0] ?? '') && !words[0]!.startsWith('-')) {
        t.ok(knows(commands, words[0]!), `${name}: ${path} ${words[0]}`)
        path.push(words.shift()!)
      }
      const text = await help(...path)
      for (const option of words.filter((word) => /^\[?--[a-z]/.test(word))) {
        const flag = option.replace(/^\[/, '').replace(/[\].:]+$/, '')
        t.match(text, new RegExp(` ${flag}[ ,]`), `${name}: ${path.join(' ')} ${flag}`)
        count += 1
      }
    }
  }
  t.ok(count > 50, `${count} options`)
})

/** The anchor that GitHub gives to a heading. */
const anchorOf = (heading: string): string =>
  heading
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')

t.test('every link of a page leads to an existing file and heading', (t) => {
  for (const name of [...PAGES, 'test/crash/README.md', 'bench/README.md']) {
    for (const [, path, anchor] of page(name).matchAll(/\]\((?!https?:)([^)\s#]*)(?:#([^)\s]*))?\)/g)) {
      const file = path === '' ? name : join(dirname(name), path!)
      t.ok(existsSync(file), `${name}: ${path}`)
      if (anchor === undefined || !existsSync(file)) continue
      const headings = [...page(file).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!))
      t.ok(headings.includes(anchor), `${name}: ${path}#${anchor}`)
    }
  }
  t.end()
})

/** The rows of the table of actors in ARCHITECTURE.md: kind, file, creator, messages sent, retirement. */
function actorRows(): string[][] {
  const [, section = ''] = page('ARCHITECTURE.md').split('\n## The actors\n')
  const rows = section.split('\n## ')[0]!.match(/^\| `.*$/gm) ?? []
  return rows.map((row) =>
    row
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
}

/** Everything in backticks, except whole code blocks. */
const quoted = (text: string): string[] =>
  [...text.replaceAll(/^```[\s\S]*?^```$/gm, '').matchAll(/`([^`]+)`/g)].map(([, word]) => word!)

t.test('ARCHITECTURE.md lists every kind of actor with its file and whether it is ever forgotten', (t) => {
  const rows = actorRows()
  t.same(rows.flatMap(([kind = '']) => quoted(kind)).sort(), [...ACTOR_KINDS].sort())
  for (const [kind = '', file = '', , , forgotten] of rows) {
    const [name, path] = [...quoted(kind), ...quoted(file)] as [ActorKind, string]
    t.match(page(join('machines', path)), `  kind: '${name}',\n`, `${name} is in ${path}`)
    t.equal(forgotten === 'never', modules[name].retirement === undefined, `${name} is forgotten: ${forgotten}`)
  }
  t.end()
})

t.test('the messages that ARCHITECTURE.md says actors send are accepted by their receivers', (t) => {
  let count = 0
  for (const [kind = '', , , sends = ''] of actorRows()) {
    if (sends === 'nothing') continue
    for (const part of sends.split('; ')) {
      const [to = '', messages = ''] = part.split(': ')
      for (const receiver of quoted(to)) {
        const { events } = modules[receiver as ActorKind].machine
        for (const message of quoted(messages)) t.ok(events.includes(message), `${kind} to ${receiver}: ${message}`)
        count += quoted(messages).length
      }
    }
  }
  t.ok(count > 50, `${count} messages`)
  t.end()
})

t.test('every decision is in the list of decisions and states its choice', (t) => {
  const list = page(join(DECISIONS, 'README.md'))
  const names = readdirSync(DECISIONS).filter((name) => name !== 'README.md')
  for (const name of names) {
    for (const part of page(join(DECISIONS, name)).split('\n## ').slice(1)) {
      const [heading = ''] = part.split('\n')
      t.ok(list.includes(`](${name}#${anchorOf(heading)})`), `${name}: ${heading}`)
      t.match(part, /\n(\*\*Choice\.\*\* |- )/, `${name}: ${heading}`)
    }
  }
  t.end()
})

t.test('ARCHITECTURE.md and the decisions have short lines, and ARCHITECTURE.md is short', (t) => {
  for (const name of ['ARCHITECTURE.md', ...readdirSync(DECISIONS).map((name) => join(DECISIONS, name))]) {
    const lines = page(name).split('\n')
    // Rows of tables and links in lists cannot be wrapped.
    const long = lines.filter((line) => line.length > 120 && !line.startsWith('|') && !line.startsWith('- ['))
    t.same(long, [], name)
    if (name === 'ARCHITECTURE.md') t.ok(lines.length <= 185, `${lines.length} lines`)
  }
  t.end()
})

t.test('every source that ARCHITECTURE.md and the decisions name exists', (t) => {
  for (const name of PAGES.filter((name) => name === 'ARCHITECTURE.md' || name.startsWith(DECISIONS))) {
    const paths = quoted(page(name)).filter((word) =>
      /^(bench|cli|engine|http|machines|runtime|storage|test)\//.test(word),
    )
    t.ok(name.endsWith('README.md') || paths.length > 5, name)
    for (const path of paths) if (!/KINDS?\b|\*/.test(path)) t.ok(existsSync(path), `${name}: ${path}`)
  }
  t.end()
})

t.test('every test and file that the pages name exists', (t) => {
  for (const name of [
    'OPERATIONS.md',
    'SECURITY.md',
    'README.md',
    'ARCHITECTURE.md',
    'docs/ACCESS.md',
    'docs/FLEET.md',
  ]) {
    for (const [path] of page(name).matchAll(/\b(?:test|docs|packaging|bench)\/[\w/-]+\.(?:test\.ts|md|sh|service)\b/g))
      t.ok(existsSync(path), `${name}: ${path}`)
  }
  t.end()
})

/** Calls that check something. */
const CHECKS = /\bt\.(?!test\b|comment|teardown|testdir|end\b|plan|pass\b)\w+\(/

/**
 * The body of the file's test with that name if it runs unconditionally: no options (`skip`, `todo`), not skipped
 * inside.
 */
function bodyOf(file: string, name: string): string | undefined {
  const begin = page(file)
    .split(/^t\.test\(\s*/m)
    .find((text) => text.startsWith(`'${name}',`))
  const [, body] =
    /^,\s*(?:async )?\(t\) => \{\n([\s\S]*?)^(?: {2}\},\n)?\}?\)$/m.exec(begin?.slice(name.length + 2) ?? '') ?? []
  return body === undefined || /\bt\.(skip|todo)\b/.test(body) ? undefined : body
}

t.test('each of the twenty failures in test/LEARNED.md names existing tests that run and check something', (t) => {
  const parts = page('test/LEARNED.md').split(/^## /m).slice(1)
  t.same(
    parts.map((part) => Number.parseInt(part, 10)),
    Array.from({ length: 20 }, (_, n) => n + 1),
  )
  const named = parts.map((part) =>
    [...part.matchAll(/^- `(test\/\S+)`: (.*)$/gm)].map(([, file, name]) => [file!, name!]),
  )
  for (const [n, part] of parts.entries()) {
    t.match(part, named[n]!.length > 0 ? /^\d+\. .+\n\n\w/ : /^No test: /m)
    for (const [file, name] of named[n]!) t.match(existsSync(file!) && bodyOf(file!, name!), CHECKS, `${file}: ${name}`)
  }
  for (const file of readdirSync('test', { recursive: true, encoding: 'utf8' }).filter((name) =>
    /\.test\.ts$/.test(name),
  ))
    for (const [, name, n] of page(join('test', file)).matchAll(/'(learned (\d+): [^']*)'/g))
      t.ok(
        named[Number(n) - 1]?.some((one) => one[0] === join('test', file) && one[1] === name),
        `${file}: ${name}`,
      )
  t.end()
})

t.test('the log lines that OPERATIONS.md names for failures are those that the program writes', (t) => {
  const sources = ['cli', 'engine', 'http', 'runtime', 'storage'].flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => page(join(folder, name))),
  )
  const named = [...page('OPERATIONS.md').matchAll(/^#### .*$/gm)].flatMap(([seen]) => quoted(seen))
  // That one is Node.js's own.
  const lines = named.filter((words) => words.includes(' ') && !words.startsWith('EMFILE: '))
  t.ok(lines.length > 10)
  for (const line of lines)
    t.ok(
      sources.some((source) => source.includes(line)),
      line,
    )
  t.end()
})

t.test('the codes that OPERATIONS.md names for failures exist in the program', (t) => {
  const [, behind = ''] = page('OPERATIONS.md').split('\n## What can go wrong\n')
  const [failures = ''] = behind.split('\n## ')
  const sources = ['storage/home/home-refused.ts', 'http/wire/uws.ts'].map(page).join('\n')
  const named = [...failures.matchAll(/^#### (.*)$/gm)].flatMap(([, seen]) => [...seen!.matchAll(/`([a-z_]+)`/g)])
  const codes = named.map(([, code]) => code!).filter((code) => code !== 'lost')
  t.ok(codes.length > 15)
  for (const code of codes)
    t.ok((PROBLEM_CODES as readonly string[]).includes(code) || sources.includes(`'${code}'`), code)
  t.end()
})
