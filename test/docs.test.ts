/** What the pages for operators say is what there is: settings, metrics, tests, refusals. */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { envOf, flagOf, SETTINGS } from '../cli/settings.ts'
import { PROBLEM_CODES } from '../http/problems.ts'
import { startTestService } from './http/service-harness.ts'

const page = (name: string): string => readFileSync(name, 'utf8')

/** The table of settings, as OPERATIONS.md holds it between its marks. */
function settingsTable(): string {
  const rows = SETTINGS.map((spec) => {
    const byDefault = spec.byDefault === undefined ? '' : `\`${spec.byDefault}\``
    return `| \`${flagOf(spec)}\` | \`${envOf(spec)}\` | \`${spec.name}\` | ${byDefault} | ${spec.help} |`
  })
  const head = ['| Flag | Environment | In config.json | Default | What it is |', '|---|---|---|---|---|']
  return `<!-- begin: made from the settings -->\n${[...head, ...rows].join('\n')}\n<!-- end -->`
}

t.test('OPERATIONS.md has every setting, as the program has it', (t) => {
  t.ok(page('OPERATIONS.md').includes(settingsTable()), settingsTable())
  t.end()
})

t.test('OPERATIONS.md has every metric of ours, and no other', async (t) => {
  const s = await startTestService(t)
  const { body } = await s.expect(200, 'GET', '/metrics')
  const there = new Set([...(body as string).matchAll(/^# TYPE (intendant_\w+) /gm)].map((match) => match[1]!))
  const told = new Set(
    [...page('OPERATIONS.md').matchAll(/\bintendant_\w+/g)].map(([name]) => name.replace(/_bucket$/, '')),
  )
  t.same([...told].sort(), [...there].sort())
})

t.test('tests and files that the pages name are there', (t) => {
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

t.test('what OPERATIONS.md says is answered or refused is what the program answers or refuses with', (t) => {
  const [, failures = ''] = page('OPERATIONS.md').split('## What can go wrong')
  const sources = ['storage/home-refused.ts', 'http/uws.ts'].map(page).join('\n')
  const named = [...failures.matchAll(/^\| (.*?) \|/gm)].flatMap(([, cell]) => [...cell!.matchAll(/`([a-z_]+)`/g)])
  const codes = named.map(([, code]) => code!).filter((code) => code !== 'lost')
  t.ok(codes.length > 15)
  for (const code of codes)
    t.ok((PROBLEM_CODES as readonly string[]).includes(code) || sources.includes(`'${code}'`), code)
  t.end()
})
