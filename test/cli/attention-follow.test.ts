/** `intendant attention --follow`: what begins to need a person is told once, across crashes of both sides. */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { type Follower, followAttention } from '../../cli/attention-follow.ts'
import { openCli } from '../../cli/world.ts'
import { absenceMsMin } from '../../runtime/dispatch/waiting-reasons.ts'
import { begin, fleet, inState, submit, take } from '../http/ledger-harness.ts'
import { startTestService, type TestService } from '../http/service-harness.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { until } from '../until.ts'
import { cli, service, startCli, worldOf } from './in-process.ts'
import { ENV, type Served, serve, start } from './processes.ts'

const PACE = { settleMs: 1, gapMs: 1, everyMs: 60_000, backoff: { firstMs: 1, longestMs: 20 } }

const text = (file: string): string => {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** The ids that such a file says somebody was told of; the file is not touched. */
const toldBy = (file: string): string[] => {
  const [first, ...changes] = linesIn(file).map((line) => JSON.parse(line))
  const told = new Map(first.told.map((call: any) => [call.key, call.id]))
  for (const change of changes)
    change.over === undefined ? told.set(change.told.key, change.told.id) : told.delete(change.over)
  return [...told.values()] as string[]
}

/** Each line: what has changed, why, and for which. */
const linesIn = (file: string): string[] => text(file).split('\n').slice(0, -1)
const LINE = '"$INTENDANT_CHANGE $INTENDANT_REASON $INTENDANT_ID"'

/** Follows in this process, with short pauses, until the end of the test. */
function following(
  test: Test,
  env: Record<string, string>,
  follower: Partial<Follower>,
  pace: object = {},
  json = true,
) {
  const watched = worldOf({}, env)
  const asked = { filter: {}, execLimit: 60_000, ...follower }
  const ended = followAttention(openCli(watched.world, { json }), asked, { ...PACE, ...pace })
  const stop = async (): Promise<void> => {
    watched.signal()
    await ended
  }
  test.teardown(stop)
  /** What was printed, once there are so many lines. */
  const told = async (count: number): Promise<any[]> => {
    const lines = await until(
      async () => watched.out().split('\n').slice(0, -1),
      ({ length }) => length >= count,
    )
    return lines.map((line) => JSON.parse(line))
  }
  return { ...watched, ended, stop, told }
}

const envOf = (s: TestService, token = s.admin) => ({ ENGINE_URL: s.service.url, ENGINE_TOKEN: token })

/** A run request that waits for an approval. */
const unapproved = (s: TestService, key: string, project = 'shop') =>
  s.request(project, { throttle: 'full', idempotency_key: key })
const cancel = (s: TestService, { id }: any) => s.expect(200, 'POST', `/api/run-requests/${id}/cancel`, {})

t.test('what needs a person is told at the start, then as it begins and ends, most pressing first', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const waits = await unapproved(s, 'a')
  const { id } = await submit(s)
  const { request_id } = await begin(s, runner)
  await s.expect(
    200,
    'POST',
    `/api/run-requests/${request_id}/failed`,
    { class: 'execution', code: 'x', message: 'no luck' },
    runner,
  )
  await inState(s, id, 'failed')
  const follow = following(t, envOf(s), { ended: true })
  const [first, second] = await follow.told(2)
  t.match(first, {
    change: 'began',
    reason: 'failed',
    kind: 'work_item',
    id,
    project: 'shop',
    what: /no luck/,
    work_item: { id },
  })
  t.match(second, { change: 'began', reason: 'unapproved', id: waits.id, run_request: { state: 'queued' } })
  await cancel(s, waits)
  const third = (await follow.told(3))[2]
  t.strictSame(third, {
    change: 'ended',
    ...(({ kind, reason, id, project, since, what }) => ({ kind, reason, id, project, since, what }))(second),
  })
  const next = await unapproved(s, 'b')
  t.match((await follow.told(4))[3], { change: 'began', reason: 'unapproved', id: next.id })
  await follow.stop()
  t.equal(follow.err(), '')
})

t.test('a reason that ends and begins again is told again', async (t) => {
  const s = await startTestService(t)
  const runner = await fleet(s, 'shop')
  const { id } = await s.request('shop')
  const loseIt = async (instance: string) => {
    const { attempt } = await take(s, runner)
    await s.expect(200, 'POST', `/api/run-requests/${id}/started`, { attempt }, runner)
    for (const one of [`${instance}-a`, `${instance}-b`])
      await s.expect(200, 'POST', '/api/runners/r1/session', { instance: one, version: '1' }, runner)
  }
  await loseIt('one')
  const follow = following(t, envOf(s), { filter: { reason: ['lost'] } })
  await follow.told(1)
  await s.expect(200, 'POST', `/api/run-requests/${id}/requeue`, {})
  await loseIt('two')
  const told = await follow.told(2)
  t.match(told, [
    { reason: 'lost', id },
    { reason: 'lost', id },
  ])
  t.not(told[0].since, told[1].since)
})

t.test('what begins by time alone is told, although no event says so', async (t) => {
  const platform = new AdvanceablePlatform()
  const s = await startTestService(t, {}, { platform })
  await fleet(s, 'shop')
  await until(
    async () => {
      platform.advance(30_000)
      return (await s.expect(200, 'GET', '/api/runners/r1')).body
    },
    ({ presence }) => presence === 'offline',
  )
  await submit(s)
  const follow = following(t, envOf(s), {}, { everyMs: 20 })
  platform.advance(absenceMsMin)
  t.match(await follow.told(1), [
    { reason: 'no_runner_online', project: 'shop', what: 'work of shop waits for a runner' },
  ])
})

t.test('only what the filters admit is listed, and told', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop', 'bank')
  const ours = await unapproved(s, 'a')
  const theirs = await unapproved(s, 'b', 'bank')
  const env = envOf(s)
  const ids = async (...argv: string[]) =>
    JSON.parse((await cli(env, 'attention', '--json', ...argv)).out).map((item: any) => item.run_request.id)
  t.same(await ids(), [theirs.id, ours.id])
  t.same(await ids('--project', 'shop'), [ours.id])
  t.same(await ids('--reason', 'lost,failed'), [])
  t.same(await ids('--reason', 'lost', '--reason', 'unapproved', '--project', 'bank'), [theirs.id])
  t.match(await cli(env, 'attention', '--reason', 'hunger'), { code: 3, err: /lost, escalated/ })
  const follow = following(t, env, { filter: { project: 'bank', reason: ['unapproved'] } })
  await follow.told(1)
  await unapproved(s, 'c')
  const more = await unapproved(s, 'd', 'bank')
  t.same(
    (await follow.told(2)).map(({ id }) => id),
    [theirs.id, more.id],
  )
})

t.test('people see why, which, what and what to do', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const { id } = await unapproved(s, 'a')
  const follow = following(t, envOf(s), { ended: true }, {}, false)
  const began = `unapproved  ${id}  shop  greet_requested\n  intendant run-request approve ${id}, or cancel ${id}\n`
  await until(
    async () => follow.out(),
    (out) => out === began,
  )
  await cancel(s, { id })
  await until(
    async () => follow.out(),
    (out) => out === `${began}unapproved has ended  ${id}  shop  greet_requested\n`,
  )
  await follow.stop()
  const now = startCli(envOf(s), 'attention', '--follow')
  await until(
    async () => s.call('GET', '/metrics'),
    ({ body }) => /intendant_watchers\S* 1/.test(body),
  )
  now.signal()
  t.same(await now.ended, { code: 0, out: '', err: '' })
})

t.test(
  'the command gets the item and its facts; one that fails is run again, and does not hold up the others',
  async (t) => {
    const s = await startTestService(t)
    await fleet(s, 'shop')
    const at = t.testdir()
    const [first, second] = [await unapproved(s, 'a'), await unapproved(s, 'b')]
    const exec = `cat > ${at}/$INTENDANT_ID; echo ${LINE} >> ${at}/all; [ "$INTENDANT_ID" != ${second.id} ] || [ -e ${at}/well ]`
    const follow = following(t, envOf(s), { exec, state: `${at}/state` })
    await until(
      async () => linesIn(`${at}/all`),
      (lines) => lines.length > 4,
    )
    const told = () => toldBy(`${at}/state`)
    t.same(told(), [first.id], 'noted once the command has succeeded')
    t.equal(linesIn(`${at}/all`).filter((line) => line.includes(first.id)).length, 1)
    t.match(JSON.parse(text(`${at}/${first.id}`)), { change: 'began', id: first.id, run_request: { id: first.id } })
    writeFileSync(`${at}/well`, '')
    await until(
      async () => told(),
      ({ length }) => length === 2,
    )
    const { length } = linesIn(`${at}/all`)
    t.match(follow.err(), /unapproved runreq_\w+: the command ended with exit code 1; trying again/)
    await cancel(s, first)
    await until(
      async () => told(),
      (ids) => ids.length === 1,
    )
    t.equal(linesIn(`${at}/all`).length, length, 'an end is not told unless asked for')
    t.equal(statSync(`${at}/state`).mode & 0o777, 0o600)
  },
)

t.test('one for which the command fails is given up when its reason ends', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const at = t.testdir()
  const waits = await unapproved(s, 'a')
  const follow = following(t, envOf(s), { exec: `echo ${LINE} >> ${at}/all; false`, ended: true })
  await until(
    async () => linesIn(`${at}/all`),
    ({ length }) => length > 1,
  )
  await cancel(s, waits)
  const other = await unapproved(s, 'b')
  const lines = await until(
    async () => linesIn(`${at}/all`),
    (all) => all.some((line) => line.includes(other.id)),
  )
  const { length } = lines.filter((line) => line.includes(waits.id))
  await until(
    async () => linesIn(`${at}/all`),
    (all) => all.length > lines.length + 3,
  )
  t.equal(linesIn(`${at}/all`).filter((line) => line.includes(waits.id)).length, length)
  t.notMatch(text(`${at}/all`), 'ended')
  await follow.stop()
})

t.test('a file of other filters, or of something else, is refused', async (t) => {
  const s = await startTestService(t)
  await fleet(s, 'shop')
  const at = t.testdir({ other: '{}', broken: '{' })
  const first = following(t, envOf(s), { state: `${at}/state`, filter: { project: 'shop' } })
  await until(
    async () => text(`${at}/state`),
    (kept) => kept !== '',
  )
  await first.stop()
  const argv = ['attention', '--follow', '--state']
  const { code, err } = await cli(envOf(s), ...argv, `${at}/state`)
  t.same([code, err.includes('belongs to other filters ({"project":"shop"})')], [2, true], err)
  for (const name of ['other', 'broken'])
    t.match(await cli(envOf(s), ...argv, `${at}/${name}`), { code: 2, err: /is no file of attention --state/ })
  t.match(await cli(envOf(s), ...argv, `${at}/none/state`), { code: 1, err: /cannot be written: ENOENT/ })
  for (const more of [['--exec', 'true'], ['--state', 'x'], ['--ended']])
    t.match(await cli(envOf(s), 'attention', ...more), { code: 2, err: /need --follow/ })
})

t.test('a stop does not wait for an answer', async (t) => {
  let isAsked = false
  const silent = createServer((request, response) => {
    if (request.url!.startsWith('/api/watch')) {
      response.writeHead(200).write(`data: ${JSON.stringify({ type: 'hello', cursor: 'e.0', oldest: 'e.0' })}\n\n`)
    } else isAsked = true
  })
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    silent.closeAllConnections()
    silent.close()
  })
  const { port } = silent.address() as AddressInfo
  const follow = following(t, { ENGINE_URL: `http://127.0.0.1:${port}`, ENGINE_TOKEN: 'x' }, {})
  await until(
    async () => isAsked,
    (asked) => asked,
  )
  const before = performance.now()
  await follow.stop()
  t.ok(performance.now() - before < 10_000, 'an answer may take 30 s')
  t.equal(follow.err(), '')
})

t.test('a stream that has lost its place begins anew', async (t) => {
  let streams = 0
  const gone = { status: 410, code: 'cursor_of_another_log', detail: 'Another log.' }
  const hello = `data: ${JSON.stringify({ type: 'hello', cursor: 'e.0', oldest: 'e.0' })}\n\n`
  const { env } = await service(t, ({ url }) => {
    if (!url.startsWith('/api/watch')) return [200, { items: [] }]
    streams += 1
    return streams === 2 ? [410, gone, { 'content-type': 'application/problem+json' }] : [200, hello]
  })
  const follow = following(t, env, {})
  await until(
    async () => streams,
    (count) => count > 2,
  )
  await follow.stop()
  t.match(follow.err(), /the stream ended; trying again/)
})

t.test('a token without the right to view ends it with a clear message', async (t) => {
  const s = await startTestService(t)
  for (const [token, text] of [
    ['x'.repeat(43), /Set ENGINE_TOKEN, or --token-file, to a token that the service knows\./],
    [await s.token('none', { rights: ['event.emit'] }), /403 forbidden/],
  ] as const)
    t.match(await cli(envOf(s, token), 'attention', '--follow'), { code: 3, err: text })
})

/** A served home with a project, and commands against it. */
async function served(test: Test, ...argv: string[]): Promise<Served> {
  const service = await serve(test, `${test.testdir()}/home`, ...argv)
  await service.cli('project', 'add', '--name', 'Shop', '--key', 'shop')
  return service
}

const REQUEST = [
  'run-request',
  'create',
  '--project',
  'shop',
  '--entry-event',
  'x_requested',
  '--throttle',
  'full',
  '--json',
]

async function requested(service: Served, key: string): Promise<string> {
  const { out } = await service.cli(...REQUEST, '--idempotency-key', key)
  return JSON.parse(out).id
}

t.test('a kill between the command and its note repeats that one, and no other', async (t) => {
  const service = await served(t)
  const at = `${service.home}/..`
  const [first, second] = [await requested(service, 'a'), await requested(service, 'b')]
  // The newest comes first. The command kills whoever runs it, once, after its work for the other one.
  const exec = `echo ${LINE} >> ${at}/all; if [ "$INTENDANT_ID" = ${first} ] && mkdir ${at}/killed; then kill -9 $PPID; fi`
  const argv = ['attention', '--follow', '--reason', 'unapproved', '--state', `${at}/state`, '--exec', exec]
  const killed = service.start(...argv)
  t.equal(await killed.ended, null)
  const again = service.start(...argv)
  await until(
    async () => linesIn(`${at}/all`),
    ({ length }) => length === 3,
  )
  const third = await requested(service, 'c')
  await until(
    async () => linesIn(`${at}/all`),
    ({ length }) => length >= 4,
  )
  t.same(
    linesIn(`${at}/all`),
    [second, first, first, third].map((id) => `began unapproved ${id}`),
  )
  again.child.kill('SIGTERM')
  t.equal(await again.ended, 0, again.err())
})

t.test('it continues across a kill and restart of the service, and ends when its token is revoked', async (t) => {
  const port = String(20_000 + Math.floor(Math.random() * 10_000))
  const service = await served(t, '--port', port)
  const made = JSON.parse((await service.cli('token', 'create', '--name', 'told', '--role', 'viewer', '--json')).out)
  const first = await requested(service, 'a')
  const env = { ...ENV, ENGINE_URL: service.url, ENGINE_TOKEN: made.token }
  const told = start(t, env, 'attention', '--follow', '--reason', 'unapproved', '--json')
  await told.until((out) => out.includes(first))
  await service.end('SIGKILL')
  const back = await serve(t, service.home, '--port', port)
  const second = await requested(back, 'b')
  await told.until((out) => out.includes(second))
  const ids = told
    .out()
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line).id)
  t.same(ids, [first, second])
  t.match(told.err(), /trying again/)
  t.match(told.err(), /connected again/)
  await back.cli('token', 'revoke', made.id)
  t.equal(await told.ended, 3)
})
