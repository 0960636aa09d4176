/** The licences of the packages that are bundled into dist/bin go with it, in NOTICE. `TAP_SNAPSHOT=1` writes that file. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import t from 'tap'

/** The page's script has no source map; what it may import is in test/tidy.test.ts. */
const IN_PAGE = ['preact']
const INTRODUCTION = `Intendant is licensed under the Apache License, Version 2.0 (LICENSE).

dist/bin contains the following packages.
`

/** The files of the program that the last build made: older ones may lie beside them. */
function program(): ReadonlySet<string> {
  const reached = new Set<string>()
  const reach = (name: string): void => {
    if (reached.has(name)) return
    reached.add(name)
    for (const [, other] of readFileSync(`dist/bin/${name}`, 'utf8').matchAll(/"\.\/([\w-]+\.js)"/g)) reach(other!)
  }
  reach('main.js')
  return reached
}

/** The packages whose sources the maps of the program name. */
function bundled(): string[] {
  const maps = [...program()].map((name) => `dist/bin/${name}.map`)
  const sources: string[] = maps.flatMap((map) => JSON.parse(readFileSync(map, 'utf8')).sources)
  const names = sources.flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(source)?.[1] ?? [])
  return [...new Set([...names, ...IN_PAGE])].sort()
}

function licenceOf(name: string): string {
  const { license, author } = JSON.parse(readFileSync(`node_modules/${name}/package.json`, 'utf8'))
  const own = readdirSync(`node_modules/${name}`).filter((file) => /^(licen[cs]e|notice)/i.test(file))
  const text = own.map((file) => readFileSync(`node_modules/${name}/${file}`, 'utf8').trim()).join('\n\n')
  if (license !== 'Apache-2.0') return text
  const owner = /^\s*Copyright \d.*$/m.exec(text)?.[0].trim() ?? `Copyright ${author.name ?? author}`
  return `${owner}\n\nLicensed under the Apache License, Version 2.0 (LICENSE).`
}

const RULE = '-'.repeat(78)

t.test('NOTICE has the licence of every package that is bundled', async (t) => {
  const names = bundled()
  t.ok(names.length > 5)
  for (const name of names) t.match(licenceOf(name), /Copyright/, name)
  const parts = names.map((name) => `${RULE}\n${name}\n\n${licenceOf(name).replaceAll('\r\n', '\n')}\n`)
  const whole = [INTRODUCTION, ...parts].join('\n')
  if (process.env.TAP_SNAPSHOT === '1') writeFileSync('NOTICE', whole)
  t.equal(readFileSync('NOTICE', 'utf8'), whole, 'TAP_SNAPSHOT=1 node dist/test/notice.test.js writes it')
})
