/** What a run's command can do with `intendant`, and that its token is kept nowhere. */
import { createHash } from 'node:crypto'
import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { BINARY } from '../binary.ts'
import { command, type Served, serve } from './processes.ts'

const INTENDANT = `'${process.execPath}' '${BINARY}'`
const REQUEST = ['run-request', 'create', '--project', 'shop', '--entry-event', 'scan_requested']

async function shopWithRunner(home: string, ...rights: string[]): Promise<Served> {
  const service = await serve(t, home, '--log-level', 'trace')
  await service.cli('project', 'add', '--name', 'Shop')
  await service.cli('runner', 'add', 'r1', '--project', 'shop', '--save-token', ...rights)
  return service
}

/** The bytes of all files in a folder, by path. */
function bytesIn(folder: string): Map<string, string> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  )
  return new Map(files.map((name) => [name, readFileSync(join(folder, name), 'latin1')]))
}

t.test(
  'intendant works in the command of a run, and its token is in no file, log, answer, export or backup',
  async (t) => {
    const dir = t.testdir()
    const home = join(dir, 'home')
    const service = await shopWithRunner(home, '--run-right', 'view,intent.write,work.submit,event.emit')
    const work = [
      `printf '%s' "$ENGINE_TOKEN" > '${dir}/token'`,
      `${INTENDANT} intent add --project "$INTENDANT_PROJECT" --title 'Sessions survive'`,
      `${INTENDANT} intent list --project shop`,
      `${INTENDANT} emit note_taken --project shop --payload '{"n":1}'`,
      `${INTENDANT} run-request create --project shop --entry-event audit_requested`,
      `! ${INTENDANT} runner add r2 --project shop`,
      `${INTENDANT} run-request list --json`,
      'env; set -x; : "$ENGINE_TOKEN"',
    ].join(' && ')
    const running = service.start('runner', '--id', 'r1', '--exec', work, '--once')
    const followed = await service.cli(...REQUEST, '--wait')
    t.equal(followed.code, 0, followed.out + followed.err)
    t.equal(await running.ended, 0)
    const token = readFileSync(join(dir, 'token'), 'utf8')
    t.match(token, /^irt_/)

    const events = (await service.cli('events', '--json', '--limit', '500')).out
    for (const type of ['intent_record_created', 'note_taken', 'run_request_created']) t.match(events, type)
    const byRun = JSON.parse(events).filter(({ by }: any) => by?.name.startsWith('run:'))
    const [drafted, , requested] = byRun
    t.match(drafted, { event_type: 'intent_record_created', by: { id: drafted.by.name.slice('run:'.length) } })
    t.match(requested, { event_type: 'run_request_created', by: drafted.by })
    t.match(events, /ENGINE_TOKEN=irt_\.\.\.\\n/, 'its own output, without the token')
    t.match(events, /forbidden/, 'what it may not do')
    const late = await service.cli('--token-file', join(dir, 'token'), 'intent', 'list', '--project', 'shop')
    t.equal(late.code, 3, 'over with its run')

    const { out } = await service.cli('backup', '--json')
    t.equal(await service.end('SIGTERM'), 0)
    await command('export', join(dir, 'events'), '--home', home)
    t.equal((await command('verify', '--home', home)).code, 0)
    const kept = bytesIn(home)
    t.notOk(
      [...kept.keys()].some((name) => name.startsWith('backups/') && name.includes('run-tokens')),
      out,
    )
    t.ok([...kept.keys()].some((name) => name.startsWith('backups/')))
    const places = new Map([
      ...kept,
      ...[...bytesIn(join(dir, 'events'))].map(([name, text]) => [`export ${name}`, text] as const),
      ['log of the service', service.log()],
      ['output of the runner', running.out() + running.err()],
      ['events', events],
    ])
    const hash = createHash('sha256').update(token).digest('hex')
    const proof = token.slice(-43)
    for (const [place, text] of places)
      for (const secret of [token, proof, hash]) t.notOk(text.includes(secret), `${place} holds ${secret}`)
  },
)

t.test('a runner whose runs have no rights gives its command neither address nor token', async (t) => {
  const service = await shopWithRunner(join(t.testdir(), 'home'))
  const running = service.start('runner', '--id', 'r1', '--exec', 'env', '--once')
  t.equal((await service.cli(...REQUEST, '--wait')).code, 0)
  t.equal(await running.ended, 0)
  const events = (await service.cli('events', '--json', '--limit', '500')).out
  t.match(events, /INTENDANT_PROJECT=shop/)
  t.notMatch(events, /ENGINE_/)
})

t.test('after a restore no token of before is accepted, even with the key of before', async (t) => {
  const dir = t.testdir()
  const home = join(dir, 'home')
  const service = await shopWithRunner(home, '--run-right', 'view')
  const call = async (at: Served, method: string, path: string, as: string) =>
    await fetch(at.url + path, { method, headers: { authorization: `Bearer ${as}` } })
  const runner = readFileSync(join(home, 'runner-r1.token'), 'utf8').trim()
  const take = async (at: Served): Promise<string> => {
    const { id } = JSON.parse((await at.cli(...REQUEST, '--json', '--idempotency-key', at.url)).out)
    const offered: any = await (await call(at, 'GET', '/api/runners/r1/run-requests/next?wait=20', runner)).json()
    t.equal(offered.request_id, id)
    const accepted: any = await (await call(at, 'POST', `/api/run-requests/${id}/accepted`, runner)).json()
    return accepted.run_token
  }
  const token = await take(service)
  t.equal((await call(service, 'GET', '/api/projects', token)).status, 200)
  t.equal(await service.end('SIGTERM'), 0)
  for (const isKeyPutBack of [false, true]) {
    const restored = join(dir, `restored-${isKeyPutBack}`)
    const { code, err } = await command('restore', home, '--home', restored)
    t.equal(code, 0, err)
    t.notOk(statSync(join(restored, 'run-tokens.key'), { throwIfNoEntry: false }), 'the key is not restored')
    if (isKeyPutBack) cpSync(join(home, 'run-tokens.key'), join(restored, 'run-tokens.key'))
    const again = await serve(t, restored)
    t.equal((await call(again, 'GET', '/api/projects', token)).status, 401)
    const next = await take(again)
    t.equal((await call(again, 'GET', '/api/projects', next)).status, 200, 'its own are accepted')
    t.equal((await call(again, 'GET', '/api/projects', token)).status, 401)
    t.equal(await again.end('SIGTERM'), 0)
  }
})
