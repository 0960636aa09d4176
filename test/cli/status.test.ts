import t, { type Test } from 'tap'
import { fleet, submit } from '../http/ledger-harness.ts'
import { startOnDisk, startTestService } from '../http/service-harness.ts'
import { cli, service } from './in-process.ts'

t.test('status tells how a service is on one page, and that all is well', async (t) => {
  const s = await startOnDisk(t, t.testdir())
  const env = { ENGINE_URL: s.service.url, ENGINE_TOKEN: s.admin }
  await fleet(s, 'shop')
  await s.runner('r2', { capacity: 2 })
  const { id } = await submit(s, { not_before: '2100-01-01T00:00:00Z' })
  await s.expect(200, 'POST', `/api/work-items/${(await submit(s, { objective: 'Later' })).id}/hold`)
  await s.expect(200, 'POST', '/api/pacing/pause', { lanes: ['campaign'] })
  const { code, out, err } = await cli(env, 'status')
  t.equal(code, 0, err)
  const lines = new Map(out.split('\n').map((line) => [line.split(/ {2,}/)[0], line.split(/ {2,}/)[1]]))
  t.match(Object.fromEntries(lines), {
    service: new RegExp(`^${s.service.url}, version \\S+$`),
    since: /^\d{4}-\d\d-\d\dT\S+Z \(\d+[smhd]\)$/,
    ready: 'yes',
    runners: '1 online, 0 draining, 0 offline, 1 never seen',
    slots: '0 of 4 used',
    disk: /^\d+(\.\d)? [KMG]iB free, 0 B reserved$/,
    ledger: /^0 of 4 running or handed out, 2 waiting \(1 held\)$/,
    oldest: new RegExp(`^${id} for \\d+s: `),
    paused: 'campaign',
    'needs you': 'nothing',
  })
  t.notMatch(out, /critical/)
  const json = JSON.parse((await cli(env, 'status', '--json')).out)
  t.match(json, {
    url: s.service.url,
    ready: true,
    started_at: String,
    runners: { online: 1, draining: 0, gone: 0, never_seen: 1, slots: 4, slots_used: 0 },
    ledger: { running: 0, max_running: 4, waiting: 2, held: 1, oldest: { id } },
    disk: { free_bytes: Number, reserve_bytes: 0 },
    paused: ['campaign'],
    attention: {},
    critical: [],
  })
})

const NOT_READY = { status: 503, code: 'disk_reserve', title: 'The disk is nearly full', detail: 'It takes no writes.' }

/** A service of which `/readyz` answers so, and which has these runners and calls. */
const answering = (
  test: Test,
  readyz: readonly [number, unknown],
  {
    runners = [],
    calls = [],
    pacing = {},
    metrics = '',
  }: { runners?: object[]; calls?: object[]; pacing?: object; metrics?: string } = {},
) =>
  service(test, ({ url }) => {
    const { pathname } = new URL(url, 'http://x')
    if (pathname === '/readyz') return readyz
    if (pathname === '/api/version') return [200, { version: '1.2.3' }]
    if (pathname === '/metrics') return [200, `process_start_time_seconds 1893456000.5\n${metrics}`]
    if (pathname === '/api/runners') return [200, { items: runners }]
    if (pathname === '/api/attention') return [200, { items: calls }]
    if (pathname === '/api/pacing')
      return [
        200,
        { running_count: 0, running: [], max_running: 0, waiting_count: 0, waiting: [], paused: [], ...pacing },
      ]
    return [404, { status: 404, code: 'not_found' }]
  })
const READY = { status: 'ready', quarantined: 0, set_aside: 0, passed_over: 0 }

t.test('labels that a limit of 0 holds back stand beside the paused lanes', async (t) => {
  const label_limits = [
    { label: 'gpu', max_running: 0 },
    { label: 'ci', max_running: 1 },
  ]
  const { env } = await answering(t, [200, READY], { pacing: { paused: ['campaign'], label_limits } })
  t.match((await cli(env, 'status')).out, /^paused +campaign, label gpu$/m)
  const json = JSON.parse((await cli(env, 'status', '--json')).out)
  t.match(json, { paused: ['campaign'], stopped_labels: ['gpu'] })
  t.equal(json.paused.length, 1)
})

t.test('status ends with 1 where somebody must look, and says at what', async (t) => {
  const gone = { id: 'r1', state: 'draining', presence: 'offline', capacity: 2, in_flight: [] }
  const cases = [
    [await answering(t, [503, NOT_READY]), /^critical: it is not ready: It takes no writes\. \(disk_reserve\)$/m],
    [await answering(t, [200, { ...READY, quarantined: 2 }]), /^critical: 2 entities cannot be read: see the log$/m],
    [await answering(t, [200, { ...READY, set_aside: 1 }]), /^critical: 1 message is set aside/m],
    [await answering(t, [200, { ...READY, passed_over: 1 }]), /^critical: 1 entity is passed over/m],
    [await answering(t, [200, READY], { runners: [gone] }), /^critical: no runner is online: intendant runner list$/m],
    [await answering(t, [200, READY], { pacing: { unreadable: true } }), /^critical: the pause state cannot be read/m],
  ] as const
  for (const [{ env }, words] of cases) {
    const { code, out, err } = await cli(env, 'status')
    t.equal(code, 1, err)
    t.match(out, words)
    t.equal([...out.matchAll(/^critical/gm)].length, 1)
  }
  const [[{ env }]] = cases
  const { code, out } = await cli(env, 'status', '--json')
  t.equal(code, 1)
  t.match(JSON.parse(out), { ready: false, problem: NOT_READY, version: '1.2.3', critical: [/disk_reserve/] })
})

t.test('status counts what needs a person by its reason, which is not critical', async (t) => {
  const calls = [{ reason: 'lost' }, { reason: 'preserved' }, { reason: 'lost' }]
  const { env } = await answering(t, [200, READY], { calls })
  const { code, out } = await cli(env, 'status')
  t.equal(code, 0)
  t.match(out, /^needs you +2 lost, 1 preserved: intendant attention$/m)
  t.match(out, /^since +2030-01-01T00:00:00\.500Z \(/m)
  t.notMatch(out, /^disk/m, 'a file system may not tell')
})

t.test('status tells what a service says that stops and answers nothing else', async (t) => {
  const stopping = { status: 503, code: 'stopping', detail: 'The service is stopping.' }
  const { env } = await service(t, () => [503, stopping])
  t.match(await cli(env, 'status'), { code: 1, out: /^service .*\nready +no\n\ncritical: it is not ready: .*stopping/ })
})

t.test('status ends with 4 where nobody answers, and with 3 where the token is none', async (t) => {
  t.equal((await cli({ ENGINE_URL: 'http://127.0.0.1:1', ENGINE_TOKEN: 'x' }, 'status')).code, 4)
  const proxy = await service(t, () => [503, 'a page'])
  t.equal((await cli(proxy.env, 'status')).code, 4, 'what stands before it says nothing of the service')
  const s = await startTestService(t)
  t.equal((await cli({ ENGINE_URL: s.service.url, ENGINE_TOKEN: 'none' }, 'status')).code, 3)
})

t.test('status ends with 4 where the metrics break off', async (t) => {
  const cut = { 'content-length': '100', connection: 'close' }
  const { env } = await service(t, ({ url }) =>
    url === '/metrics' ? [200, 'intendant_', cut] : [200, url === '/readyz' ? READY : { items: [] }],
  )
  t.match(await cli(env, 'status'), { code: 4, err: /no answer from http:.*: aborted/ })
})

const EXPIRY = 'intendant_certificate_expiry_timestamp_seconds'

t.test('status tells when the certificate expires, and is critical three days before', async (t) => {
  const at = (days: number): string => `${EXPIRY} ${Date.now() / 1_000 + days * 86_400}\n`
  const look = async (metrics: string) => await cli((await answering(t, [200, READY], { metrics })).env, 'status')
  t.notMatch((await look(`${EXPIRY} +Inf\n`)).out, /certificate/)
  const later = await look(at(10))
  t.equal(later.code, 0)
  t.match(later.out, /^certificate +expires at \d{4}-/m)
  const soon = await look(at(2.9))
  t.equal(soon.code, 1)
  t.match(soon.out, /^critical: its TLS certificate expires at \S+Z: renew it, and restart the service$/m)
})
