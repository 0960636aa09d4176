/** The bundled runner as a command: its folder, its single run, its signals and its exit codes. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { executionRequest } from '../engine/stand-in.ts'
import { until } from '../until.ts'
import { cli, service, startCli } from './in-process.ts'

/** A service with that many run requests, which can be made to fail. */
async function withRequests(test: Test, count: number) {
  const self = { isAway: false, offered: 0 }
  const { env, asked } = await service(test, ({ method, url, body }) => {
    if (self.isAway) return [502, 'a proxy']
    if (url.includes('/next?')) {
      if (self.offered >= count) return [204]
      self.offered += 1
      return [200, executionRequest(`runreq_${self.offered}`)]
    }
    if (method === 'GET') return [200, {}]
    return [200, { run_request: { attempt: body.attempt, engine_run_id: 'run_1' }, cancel_requested: false }]
  })
  const said = (verb: string) => asked.filter(({ url }) => url.endsWith(`/${verb}`))
  return { self, env: { PATH: process.env.PATH!, ...env }, said }
}

t.test('a --dir that is not a folder is refused before any work is taken', async (t) => {
  const folder = t.testdir({ file: '' })
  for (const dir of [join(folder, 'none'), join(folder, 'file')]) {
    const { self, env } = await withRequests(t, 1)
    const { code, err } = await cli(env, 'runner', '--id', 'r1', '--exec', 'true', '--dir', dir)
    t.equal(code, 2)
    t.match(err, `--dir is "${dir}", which is not a folder`)
    t.equal(self.offered, 0)
  }
})

t.test('--once takes a single run whatever the capacity, and exits with its outcome', async (t) => {
  for (const [end, wanted] of [
    ['exit 0', 0],
    ['exit 3', 1],
  ] as const) {
    const gate = join(t.testdir(), 'gate')
    const { self, env, said } = await withRequests(t, 2)
    const runner = startCli(
      env,
      ...['runner', '--id', 'r1', '--once', '--capacity', '4'],
      ...['--exec', `while [ ! -e ${gate} ]; do echo tick; sleep 0.05; done; ${end}`],
    )
    // A runner with free capacity would have polled again before it posted the first output.
    await until(
      async () => said('events').length,
      (count) => count > 1,
    )
    t.equal(self.offered, 1)
    writeFileSync(gate, '')
    t.equal((await runner.ended).code, wanted)
    t.equal(self.offered, 1)
    t.equal(said('started').length, 1)
  }
})

t.test('--once that is stopped before it got a run exits with 130', async (t) => {
  const { env, said } = await withRequests(t, 0)
  const runner = startCli(env, 'runner', '--id', 'r1', '--once', '--exec', 'true')
  await until(
    async () => said('session').length,
    (count) => count > 0,
  )
  runner.signal()
  t.equal((await runner.ended).code, 130)
})

t.test('a redirect to another host is not followed, and its target is named', async (t) => {
  const elsewhere = await service(t, () => [200, {}])
  const to = elsewhere.env.ENGINE_URL!
  const { env, asked } = await service(t, ({ url }) => [301, '', { location: `${to}/base${url}` }])
  const { code, err } = await cli(env, 'project', 'list')
  t.equal(code, 4)
  t.match(err, `${env.ENGINE_URL} redirects to ${to}/base: set ENGINE_URL or --url to that`)
  t.notMatch(err, 'Is the service running there')
  const before = asked.length
  const runner = startCli(env, 'runner', '--id', 'r1', '--exec', 'true')
  await until(
    async () => asked.length,
    (count) => count > before + 2,
  )
  runner.signal()
  const ended = await runner.ended
  t.equal(ended.code, 0)
  t.match(ended.err, `redirects to ${to}/base: set ENGINE_URL or --url to that; trying again`)
  t.same(elsewhere.asked, [], 'no token was sent there')
})

t.test('a redirect within the host or without a target is reported, a long one shortened', async (t) => {
  for (const [location, told] of [
    ['/login', /redirects to http:\/\/127\.0\.0\.1:\d+\/login: set/],
    ['http://', /something other than the service answered, with status 302/],
    [`/${'x'.repeat(1_000)}`, /redirects to http:\/\/127\.0\.0\.1:\d+\/x{100,199}: set/],
  ] as const) {
    const { env } = await service(t, () => [302, 'moved', { location }])
    t.match((await cli(env, 'project', 'list')).err, told)
  }
})

t.test('while a token file is missing or empty the runner keeps using its last token', async (t) => {
  const folder = t.testdir({ token: 'one\n' })
  const [file, gate] = [join(folder, 'token'), join(folder, 'gate')]
  const { env, said } = await withRequests(t, 1)
  const runner = startCli(
    env,
    ...['runner', '--id', 'r1', '--once', '--token-file', file],
    ...['--exec', `while [ ! -e ${gate} ]; do echo tick; sleep 0.05; done`],
  )
  const ticks = async (): Promise<number> => said('events').length
  const twoMore = async (): Promise<void> => {
    const before = await ticks()
    await until(ticks, (count) => count >= before + 2)
  }
  await twoMore()
  rmSync(file)
  await twoMore()
  writeFileSync(file, '')
  await twoMore()
  t.same(new Set(said('events').map(({ token }) => token)), new Set(['Bearer one']))
  writeFileSync(file, 'two\n')
  await twoMore()
  t.equal(said('events').at(-1)!.token, 'Bearer two')
  writeFileSync(gate, '')
  t.equal((await runner.ended).code, 0)
})

t.test(
  'a runner whose service is unreachable exits with 4 soon after a second signal, and at once after a third',
  async (t) => {
    for (const [signals, soonMs] of [
      [2, 7_000],
      [3, 2_000],
    ] as const) {
      const { self, env, said } = await withRequests(t, 1)
      const runner = startCli(env, 'runner', '--id', 'r1', '--exec', 'sleep 60')
      await until(
        async () => said('started').length,
        (count) => count > 0,
      )
      self.isAway = true
      const begunMs = performance.now()
      for (let count = 0; count < signals; count += 1) runner.signal()
      const { code, err } = await runner.ended
      t.equal(code, 4)
      t.ok(performance.now() - begunMs < soonMs, `${performance.now() - begunMs} ms`)
      t.match(err, /the service has not accepted the final post/)
    }
  },
)
