import { execFileSync, spawnSync } from 'node:child_process'
import t, { type Test } from 'tap'
import { cli } from './in-process.ts'

const scriptOf = async (shell: string): Promise<string> => (await cli({}, 'completion', shell)).out

/** Whether this machine has the shell. */
const has = (shell: string): boolean => spawnSync(shell, ['-c', 'exit 0']).status === 0

/** Shells that are here find no fault in the syntax of their script. */
function assertSyntax(test: Test, shell: string, script: string): void {
  if (!has(shell)) return
  const { status, stderr } = spawnSync(shell, ['-n'], { input: script, encoding: 'utf8' })
  test.equal(status, 0, stderr)
}

t.test('bash completes commands, options and their values, and leaves the rest to files', async (t) => {
  const script = await scriptOf('bash')
  assertSyntax(t, 'bash', script)
  const completed = (...words: string[]): string[] => {
    const asked = `COMP_WORDS=(intendant ${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length}`
    const told = `_intendant; printf '%s\\n' "\${COMPREPLY[@]}"`
    const out = execFileSync('bash', ['--norc', '-c', `${script}\n${asked}\n${told}`], { encoding: 'utf8' })
    return out.split('\n').filter((line) => line !== '')
  }
  t.same(completed('que'), ['queue'])
  t.ok(completed('').includes('help'), 'also the commands that commander adds')
  t.same(completed('queue', 're').sort(), ['release', 'resume', 'retry'])
  t.same(completed('queue', 'cancel', '--s'), ['--source', '--state', '--stop-at-refusal'])
  t.same(completed('queue', 'cancel', '--state', ''), ['queued', 'held'])
  t.same(completed('queue', 'cancel', '--state', '=', 'h'), ['held'], '--state=h')
  t.same(completed('--url', 'queue', 'que'), ['queue'], 'the value of a flag is no command')
  t.same(completed('queue', '--project', 'show', 'sh'), ['show'])
  t.same(completed('project', 'ls', '--lim'), ['--limit'], 'behind a short name, too')
  t.same(completed('completion', ''), ['bash', 'zsh', 'fish'])
  t.same(completed('task', 'shop', '--file', ''), [], 'a file')
  t.ok(completed('queue', 'show', '--j').includes('--json'), 'options that every command takes')
})

t.test('zsh and fish are told the same commands, options and values', async (t) => {
  const zsh = await scriptOf('zsh')
  assertSyntax(t, 'zsh', zsh)
  t.match(zsh, /^#compdef intendant\n/)
  t.match(zsh, /^ {4}' queue'\) cmds='show .*\bretry\b/m)
  t.match(zsh, /^ {4}' project list'\|' project ls'\) cmds='' opts='.*--limit/m)
  t.match(zsh, /^ {4}' queue cancel --state'\) values='queued held' ;;$/m)
  const fish = await scriptOf('fish')
  assertSyntax(t, 'fish', fish)
  const queue = "-n '__fish_seen_subcommand_from queue"
  for (const line of [
    /^complete -c intendant -n 'not __fish_seen_subcommand_from serve .*' -f -a queue -d 'The ledger: /m,
    new RegExp(`^complete -c intendant ${queue}; and not __fish_seen_subcommand_from show .*' -f -a retry -d '`, 'm'),
    new RegExp(
      `^complete -c intendant ${queue}; and __fish_seen_subcommand_from cancel' -l state -x -a 'queued held' -d '`,
      'm',
    ),
    /^complete -c intendant -n '__fish_seen_subcommand_from task' -s f -l file -r -d 'Read /m,
    /^complete -c intendant -n '__fish_seen_subcommand_from completion' -f -a 'bash zsh fish'$/m,
  ])
    t.match(fish, line)
  t.equal([...fish.matchAll(/ -l json /g)].length, 1, 'what every command takes is told once')
  for (const line of fish.trimEnd().split('\n').slice(1))
    t.match(line, /^complete -c intendant( -n '[^']*')? ([^']|'([^'\\]|\\.)*')+$/, 'every text is whole')
})

t.test('a shell that is not known is refused', async (t) => {
  t.match(await cli({}, 'completion', 'csh'), { code: 2, err: /Allowed choices are bash, zsh, fish/ })
  t.same(Object.keys(JSON.parse((await cli({}, 'completion', 'bash', '--json')).out)), ['shell', 'script'])
})
