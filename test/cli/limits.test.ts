/** A usage limit as an operator meets it: what the commands print, also after the service was killed. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { cli } from './in-process.ts'
import { serve } from './processes.ts'

const HOUR_MS = 3_600_000

t.test('a limit is told with its end and the provider’s words, and outlives a kill of the service', async (t) => {
  const home = t.testdir()
  const first = await serve(t, home)
  const at =
    (env: NodeJS.ProcessEnv) =>
    async (...argv: string[]) => {
      const { code, out, err } = await cli(env as Record<string, string>, ...argv)
      t.equal(code, 0, `${argv.join(' ')}: ${err}`)
      return out
    }
  const say = at(first.env)
  await say('project', 'add', '--name', 'Shop')
  await say('runner', 'add', 'desk', '--project', 'shop', '--trusted', '--save-token')
  const ask = (runner: string, url: string, method: string, body?: object) => {
    const token = readFileSync(`${home}/runner-${runner}.token`, 'utf8').trim()
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    return fetch(url, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  }
  const call = async (method: string, path: string, body?: object) =>
    (await (await ask('desk', first.url + path, method, body)).json()) as any
  const poll = call('GET', '/api/runners/desk/run-requests/next?wait=10')
  await say('task', 'shop', 'Fix the footer', '--no-wait')
  const { request_id } = await poll
  await call('POST', `/api/run-requests/${request_id}/started`, {})
  const until = new Date(Date.now() + HOUR_MS).toISOString()
  const limit = { class: 'dispatch', code: 'usage_limit', message: '5-hour limit reached' }
  await call('POST', `/api/run-requests/${request_id}/failed`, { ...limit, result: { retry_after: until } })
  await say('task', 'shop', 'Fix the header', '--no-wait')

  const looks = async (say: (...argv: string[]) => Promise<string>): Promise<void> => {
    const queue = await say('queue')
    t.match(queue, /^0 of 0 running or handed out, 1 waits for a provider, 1 waiting, /)
    t.match(queue, `limited: desk until ${until} (usage_limit)`)
    t.match(queue, `Limited: desk until ${until} (usage_limit: 5-hour limit reached).`)
    t.match(queue, `Tried again at ${until}: runner desk reported usage_limit: 5-hour limit reached`)
    t.match(await say('runner', 'show', 'desk'), `until ${until}, as the provider said (usage_limit`)
    t.match(await say('runner', 'list'), `until ${until}, as the provider said`)
    t.match(await say('status'), '1 online (1 limited: intendant runner list)')
  }
  await looks(say)
  await first.end('SIGKILL')
  const second = await serve(t, home)
  const later = at(second.env)
  await looks(later)
  // The work of another project has a runner: the service as a whole may run something.
  await later('project', 'add', '--name', 'Blog')
  await later('runner', 'add', 'lap', '--project', 'blog', '--trusted', '--save-token')
  t.equal((await ask('lap', `${second.url}/api/runners/lap/run-requests/next`, 'GET')).status, 204)
  const queue = await later('queue')
  t.match(queue, /^0 of 1 running/)
  t.match(queue, `limited: desk until ${until} (usage_limit)`)
  t.notMatch(await later('queue', '--project', 'blog'), 'limited:', 'nothing of it waits for that')
})
