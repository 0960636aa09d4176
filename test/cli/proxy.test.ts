/** The command line and the runner with a service behind a forward proxy. */
import t from 'tap'
import { createClient } from '../../engine/client.ts'
import { hired } from '../engine/hired.ts'
import { executionRequest, standIn } from '../engine/stand-in.ts'
import { CERTIFICATE, forwardProxy, KEY } from './forward-proxy.ts'
import { cli, service } from './in-process.ts'
import { runCommand, serve, start } from './processes.ts'

const portOf = (url: string): string => new URL(url).port
/** The service's URL under a host name that only the proxy resolves. */
const behind = (url: string): string => `http://intendant.test:${portOf(url)}`
const LIST = ['project', 'list', '--json']

/** A service with an empty project list. */
const listing = (test: Parameters<typeof service>[0]) => service(test, () => [200, { items: [] }])

t.test('a service is reached through HTTP_PROXY, with the credentials in its URL', async (t) => {
  const { env, asked } = await listing(t)
  const proxy = await forwardProxy(t)
  const HTTP_PROXY = proxy.url.replace('//', '//ada:s3cret@')
  const listed = await cli({ ...env, ENGINE_URL: behind(env.ENGINE_URL!), HTTP_PROXY }, ...LIST)
  t.equal(listed.code, 0, listed.err)
  t.equal(asked.length, 1)
  // Plain HTTP is not tunnelled, because many proxies tunnel only to port 443.
  t.match(proxy.asked, [/^GET http:\/\/intendant\.test:.* ada:s3cret$/])
  const bare = proxy.url.replace('http://', '')
  const lower = await cli(
    { ...env, ENGINE_URL: behind(env.ENGINE_URL!), http_proxy: bare, HTTP_PROXY: 'http://[::1]:9' },
    ...LIST,
  )
  t.equal(lower.code, 0, lower.err)
})

t.test('hosts in NO_PROXY and loopback are reached directly', async (t) => {
  const { env } = await listing(t)
  const proxy = await forwardProxy(t)
  t.equal((await cli({ ...env, HTTP_PROXY: proxy.url }, ...LIST)).code, 0)
  const near = env.ENGINE_URL!.replace('127.0.0.1', 'localhost')
  await cli({ ...env, ENGINE_URL: near, HTTP_PROXY: proxy.url }, ...LIST)
  for (const NO_PROXY of ['other.test,intendant.test', '*', `intendant.test:${portOf(env.ENGINE_URL!)}`]) {
    const outcome = await cli({ ...env, ENGINE_URL: behind(env.ENGINE_URL!), HTTP_PROXY: proxy.url, NO_PROXY }, ...LIST)
    t.match(outcome.err, /no answer from http:\/\/intendant\.test/, 'the host does not resolve')
  }
  t.same(proxy.asked, [])
})

t.test('a proxy that refuses, or whose URL is invalid, is reported without its password', async (t) => {
  const { env, asked } = await listing(t)
  const proxy = await forwardProxy(t, true)
  const refused = await cli({ ...env, ENGINE_URL: 'https://intendant.test', HTTPS_PROXY: proxy.url }, ...LIST)
  t.match(refused.err, /no answer from https:\/\/intendant\.test.*proxy.*403/i)
  for (const HTTPS_PROXY of ['socks5://ada:s3cret@h:1', 'http://ada:s3cret@h:port']) {
    const wrong = await cli({ ...env, HTTPS_PROXY }, ...LIST)
    t.match(wrong, { code: 2, err: /HTTPS_PROXY is not an http:\/\/ or https:\/\/ URL/ })
    t.notMatch(wrong.err, 's3cret')
  }
  const clear = await cli({ ...env, ENGINE_URL: 'https://intendant.test', HTTP_PROXY: proxy.url }, ...LIST)
  t.notMatch(clear.err, /403/, 'HTTP_PROXY is not used for https')
  t.equal(proxy.asked.length, 1)
  t.same(asked, [])
})

t.test('a proxy that redirects is named, and does not end the process', async (t) => {
  const { env } = await service(t, () => [302, 'see there', { location: 'http://login.test/' }])
  const proxy = await forwardProxy(t)
  const outcome = await cli({ ...env, ENGINE_URL: behind(env.ENGINE_URL!), HTTP_PROXY: proxy.url }, ...LIST)
  t.match(outcome, { code: 4, err: /redirects to http:\/\/login\.test/ })
  // An error of the answer's body that nobody hears is thrown in a later turn.
  await new Promise(setImmediate)
  await new Promise(setImmediate)
})

t.test('a runner works through a proxy, and a request may wait hours for its answer through it', async (t) => {
  const proxy = await forwardProxy(t)
  const service = await standIn()
  t.teardown(() => service.stop())
  const client = createClient({
    url: behind(service.client.url),
    token: () => 'x',
    userAgent: 'test',
    proxies: { http: proxy.url },
  })
  const { runner } = await hired(t, 'echo done', { client })
  service.offer(executionRequest('runreq_x'))
  t.same(await runner.finished, ['completed'])
  t.equal(service.events()[0].payload.text, 'done\n')
  t.ok(proxy.asked.length > 0)
  const answer = await client.request('GET', '/api/version', { answerMs: 6 * 3_600_000 })
  t.equal(answer.status, 200)
})

/** The certificate of another service. */
const OTHER = `-----BEGIN CERTIFICATE-----
MIIBNzCB3gIUWEgQvVNlAjmeGD1lMGh8tb8j3F4wCgYIKoZIzj0EAwIwGzEZMBcG
A1UEAwwQcm9vdC5leGFtcGxlLmNvbTAgFw0yNjExMjMxNTQ1MTBaGA8yMTI2MTAz
MDE1NDUxMFowIDEeMBwGA1UEAwwVaW50ZW5kYW50LmV4YW1wbGUuY29tMFkwEwYH
KoZIzj0CAQYIKoZIzj0DAQcDQgAEvOoiXdMqdIgOemVzGURzlwc0YvtU/apNU0EP
idh/2chUTfZOAvvGgXNTjKp2YgZyUR4fQcxd+OK9vtJTWil53zAKBggqhkjOPQQD
AgNIADBFAiEAr94dV1qVPXfKyhSd78zgJzJzr1o4slRorvyiDRoy/kQCICrKt+Ol
P6wA8A76PijBzdm6u170UdQ+yhYiRnzM+9Kx
-----END CERTIFICATE-----`

t.test('the local runner of a TLS service accepts its certificate, whatever names it has, and no other', async (t) => {
  const folder = t.testdir({ 'cert.pem': CERTIFICATE, 'key.pem': KEY })
  const tls = ['--tls-cert', `${folder}/cert.pem`, '--tls-key', `${folder}/key.pem`]
  const local = ['--runner', 'local', '--exec', 'echo hello', '--drain', '0s']
  const served = await serve(t, `${folder}/home`, ...tls, ...local)
  const other = createClient({ url: served.url, token: () => 'x', userAgent: 'test', certificate: OTHER })
  await t.rejects(other.request('GET', '/healthz'), { name: 'ServiceUnreachable' })
  const untrusting = await served.cli('project', 'list')
  t.equal(untrusting.code, 4)
  t.match(untrusting.err, /self-signed[\s\S]*NODE_EXTRA_CA_CERTS=FILE/)
  const env = {
    ...served.env,
    ENGINE_URL: served.url.replace('127.0.0.1', 'intendant.test'),
    HTTPS_PROXY: (await forwardProxy(t)).url,
    NODE_EXTRA_CA_CERTS: `${folder}/cert.pem`,
  }
  await runCommand(['project', 'add', '--name', 'Shop', '--key', 'shop'], env)
  const asked = ['run-request', 'create', '--project', 'shop', '--entry-event', 'x_requested', '--wait']
  const done = await runCommand(asked, env)
  t.equal(done.code, 0, done.err)
})

t.test('with TLS the proxy sees only the host and port', async (t) => {
  const folder = t.testdir({ 'cert.pem': CERTIFICATE, 'key.pem': KEY })
  const tls = ['--tls-cert', `${folder}/cert.pem`, '--tls-key', `${folder}/key.pem`]
  const served = await serve(t, `${folder}/home`, ...tls)
  const proxy = await forwardProxy(t)
  const env = {
    ...served.env,
    ENGINE_URL: `https://intendant.test:${portOf(served.url)}`,
    HTTPS_PROXY: proxy.url,
    NODE_EXTRA_CA_CERTS: `${folder}/cert.pem`,
  }
  const added = await runCommand(['project', 'add', '--name', 'Shop', '--key', 'shop'], env)
  t.equal(added.code, 0, added.err)
  const watcher = start(t, env, 'watch', '--since', 'earliest', '--event-type', 'project_created')
  await watcher.until((out) => out.includes('project_created'))
  await runCommand(['runner', 'add', 'r1', '--project', 'shop', '--save-token'], env)
  const runner = start(t, env, 'runner', '--id', 'r1', '--exec', 'echo hello', '--once')
  const asked = ['run-request', 'create', '--project', 'shop', '--entry-event', 'x_requested', '--wait']
  const done = await runCommand(asked, env)
  t.equal(done.code, 0, done.err)
  t.equal(await runner.ended, 0)
  t.same(new Set(proxy.asked), new Set([`CONNECT intendant.test:${portOf(served.url)}`]))
})
