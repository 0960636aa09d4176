/** The commands in docs/FLEET.md, exactly as documented, against a real service. */
import { spawn } from 'node:child_process'
import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { BINARY } from '../binary.ts'
import { documentedScript } from '../documented-script.ts'
import { type Served, serve } from './processes.ts'

const page = readFileSync(documentedScript('FLEET.md'), 'utf8')

/** The shell block of the page that has a matching line. */
function block(line: RegExp): string {
  const blocks = [...page.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, text]) => text!)
  return blocks.find((text) => line.test(text))!
}

/** Runs a script in the folder with `intendant` on its PATH and the token in its environment; returns its output. */
async function sh(test: Test, folder: string, service: Served, token: string, script: string): Promise<string> {
  writeFileSync(`${folder}/intendant`, `#!/bin/sh\nexec '${process.execPath}' '${BINARY}' "$@"\n`)
  chmodSync(`${folder}/intendant`, 0o755)
  const child = spawn('sh', ['-e', '-c', script], {
    cwd: folder,
    env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder, ENGINE_URL: service.url, ENGINE_TOKEN: token },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  test.teardown(() => child.kill('SIGKILL'))
  let said = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk) => {
      said += chunk
    })
  const code = await new Promise<number | null>((resolve) => child.on('close', resolve))
  test.equal(code, 0, said)
  return said
}

t.test(
  'the commands of docs/FLEET.md that make projects and their runner work with the documented token',
  async (t) => {
    const folder = t.testdir({ home: {} })
    const service = await serve(t, `${folder}/home`)
    const [, create = ''] = /# intendant (token create .*)$/m.exec(page)!
    const made = JSON.parse((await service.cli(...create.split(' '), '--json')).out)
    const [script = ''] = block(/--max-writers 4$/m).split(/^REPOSITORY=/m)
    t.match(await sh(t, folder, service, made.token, script), /shop/)
    const projects = JSON.parse((await service.cli('project', 'list', '--json')).out)
    t.match(projects, [{ key: 'shop', max_writers: 4 }])
    t.match((await service.cli('runner', 'list')).out, /desk/)
  },
)

t.test('the commands of docs/FLEET.md enrol runners, whose tokens work, and drain them', async (t) => {
  const folder = t.testdir({ home: {} })
  const service = await serve(t, `${folder}/home`)
  await service.cli('project', 'add', '--name', 'Shop', '--key', 'shop')
  const [, create = ''] = /# intendant (token create .*)$/m.exec(page)!
  const made = JSON.parse((await service.cli(...create.split(' '), '--json')).out)

  await sh(t, folder, service, made.token, block(/seq 1 50/).replace('seq 1 50', 'seq 6 8'))
  const files = readdirSync(`${folder}/enrolled`)
  t.same(files, ['runner-build-6.token', 'runner-build-7.token', 'runner-build-8.token'])
  const file = `${folder}/enrolled/runner-build-7.token`
  t.equal(statSync(file).mode & 0o777, 0o600)

  service.start('runner', '--id', 'build-7', '--exec', 'echo done', '--token-file', file)
  const request = ['run-request', 'create', '--project', 'shop', '--entry-event', 'x_requested', '--runner', 'build-7']
  t.equal((await service.cli(...request, '--throttle', 'dry_run', '--wait')).code, 0)

  const said = await sh(t, folder, service, made.token, block(/runner drain/))
  t.match(said, /build-7 is draining.*\n(.*\n)*.*build-7 holds nothing\.\n(.*\n)*.*takes work again/)
})
