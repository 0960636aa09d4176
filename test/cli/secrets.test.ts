/** No secret leaves its place: not into the log, events, documents, exports or metrics. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import t from 'tap'
import { WebSocket } from 'ws'
import { dataFilesOf } from '../../storage/home/home-paths.ts'
import { command, serve } from './processes.ts'

const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex')

t.test(
  "no token or token hash appears in the log at level trace, in answers, in exports or in a runner's output",
  async (t) => {
    const home = `${t.testdir()}/home`
    const service = await serve(t, home, '--log-level', 'trace')
    const admin = readFileSync(`${home}/admin.token`, 'utf8').trim()
    const secrets = new Set([admin])
    const told: string[] = []
    const call = async (method: string, path: string, body?: object, token = admin): Promise<any> => {
      const answer = await fetch(service.url + path, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      const answered = text.startsWith('{') ? JSON.parse(text) : text
      if (typeof answered === 'object' && typeof answered.token === 'string') {
        secrets.add(answered.token)
        const { token: _, ...rest } = answered
        told.push(JSON.stringify(rest))
      } else told.push(text)
      return answered
    }

    await call('POST', '/api/projects', { name: 'Demo', key: 'demo' })
    const runner = await call('POST', '/api/runners', { id: 'r1', allowed_projects: ['demo'] })
    const rotated = await call('POST', '/api/runners/r1/token', {}, runner.token)
    const token = await call('POST', '/api/tokens', { name: 'ci', roles: ['admin'] })
    await call('POST', '/api/tokens', { name: 'ci' }, token.token)
    await call('POST', '/api/projects/demo/run-requests', { entry_event: 'scan_requested' }, token.token)
    await call('GET', '/api/runners/r1/run-requests/next', undefined, rotated.token)
    const guessed = `${'guess'.repeat(8)}X`
    secrets.add(guessed)
    await call('GET', '/api/projects', undefined, guessed)
    await call('GET', `/api/tokens?token=${token.token}`)
    // A token used as an id is echoed to the caller in the answer, but must not reach the log.
    for (const path of [`tokens/${token.token}`, `projects/a,${rotated.token}/run-requests`])
      await fetch(`${service.url}/api/${path}`, { method: 'DELETE', headers: { authorization: `Bearer ${admin}` } })
    await call('DELETE', `/api/tokens/${token.id}`)
    await call('GET', '/api/tokens', undefined, token.token)
    const socket = new WebSocket(`${service.url.replace('http', 'ws')}/api/watch?since=earliest`, [
      'intendant.watch.v1',
      `bearer.${rotated.token}`,
      `bearer.${admin}`,
    ])
    await new Promise((resolve) => socket.on('close', resolve).on('error', resolve).on('message', resolve))
    socket.terminate()
    // A secret in bytes that are no HTTP.
    const { hostname, port } = new URL(service.url)
    await new Promise((resolve) => {
      connect(Number(port), hostname).on('close', resolve).on('error', resolve).resume().end(`Bearer ${admin}\r\n\r\n`)
    })
    for (const path of [
      '/api/tokens',
      '/api/runners',
      '/api/runners/r1',
      `/api/tokens/${token.id}`,
      '/api/events?limit=500',
      '/api/version',
      '/metrics',
    ])
      await call('GET', path)
    await service.cli('token', 'list')
    await service.cli('runner', 'token', 'r1', '--save-token')
    secrets.add(readFileSync(`${home}/runner-r1.token`, 'utf8').trim())
    const running = service.start('runner', '--id', 'r1', '--exec', 'env; echo done', '--once')
    await running.ended
    t.equal(await service.end('SIGTERM'), 0)
    await command('export', `${home}/events`, '--home', home)
    for (const file of readdirSync(`${home}/events`)) told.push(readFileSync(join(home, 'events', file), 'utf8'))
    const places = {
      log: service.log(),
      'answers and exports': told.join('\n'),
      'a runner': running.out() + running.err(),
    }

    t.ok(service.log().split('\n').length > 20, 'the log is verbose')
    t.ok(secrets.size >= 6)
    for (const [place, text] of Object.entries(places)) {
      for (const secret of secrets) {
        t.notOk(text.includes(secret), `a token in ${place}`)
        t.notOk(text.includes(hashOf(secret)), `the hash of a token in ${place}`)
      }
    }
  },
)

t.test('log and view contain only hashes of tokens', async (t) => {
  const home = `${t.testdir()}/home`
  const service = await serve(t, home)
  const admin = readFileSync(`${home}/admin.token`, 'utf8').trim()
  await service.cli('runner', 'add', 'r1', '--save-token')
  const runner = readFileSync(`${home}/runner-r1.token`, 'utf8').trim()
  t.equal(await service.end('SIGTERM'), 0)
  for (const part of ['log', 'view']) {
    const bytes = dataFilesOf(join(home, part))
      .map((file) => readFileSync(file, 'latin1'))
      .join('')
    t.ok(bytes.length > 0)
    for (const secret of [admin, runner]) t.notOk(bytes.includes(secret), part)
    if (part === 'view')
      for (const secret of [admin, runner]) t.ok(bytes.includes(hashOf(secret)), 'the view has their hashes')
  }
})
