import { X509Certificate } from 'node:crypto'
import { request } from 'node:https'
import { pino } from 'pino'
import t from 'tap'
import { tellOfCertificate } from '../../http/certificate-notice.ts'
import { startService } from '../../http/service.ts'
import { defaultSettings } from '../../runtime/settings.ts'
import { CERTIFICATE, KEY } from '../cli/forward-proxy.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'
import { MemoryJournal } from '../storage/memory.ts'

const DAY_MS = 86_400_000

t.test('the log tells each day of a certificate that expires within two weeks', async (t) => {
  const platform = new AdvanceablePlatform()
  const told: any[] = []
  const log = { warn: (...line: any[]) => void told.push(line) } as any
  // Not a whole number of days: whether two weeks are left would be a matter of a millisecond.
  const endMs = platform.wallMs() + 14.5 * DAY_MS
  const stop = tellOfCertificate(platform, log, endMs)
  t.same(told, [])
  platform.advance(DAY_MS + 1_000)
  platform.advance(DAY_MS)
  t.same(told.length, 2)
  t.match(told[0], [{ expires_at: new Date(endMs).toISOString() }, /expires soon: renew it, and restart the service/])
  for (let days = 0; days < 14; days++) platform.advance(DAY_MS)
  t.match(told.at(-1)[1], /has expired/)
  stop()
  const before = told.length
  platform.advance(DAY_MS * 2)
  t.equal(told.length, before)
})

t.test('nothing is told without a certificate', async (t) => {
  const platform = new AdvanceablePlatform()
  tellOfCertificate(platform, { warn: () => t.fail('told') } as any, Number.POSITIVE_INFINITY)()
  platform.advance(DAY_MS)
})

/** One call of a service whose certificate nobody trusts: its answer. */
function call(url: string, token: string, method: string, body?: object): Promise<any> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, rejectUnauthorized: false, agent: false }, async (answer) => {
      let text = ''
      for await (const chunk of answer) text += chunk
      resolve(JSON.parse(text))
    })
    asked.on('error', reject).end(body && JSON.stringify(body))
  })
}

t.test('a certificate that expires soon calls for a person: last in two weeks, first in three days', async (t) => {
  const home = t.testdir({ 'cert.pem': CERTIFICATE, 'key.pem': KEY })
  const endMs = Date.parse(new X509Certificate(CERTIFICATE).validTo)
  const platform = new AdvanceablePlatform()
  platform.advance(endMs - 14.5 * DAY_MS - platform.wallMs())
  const tls = { certFile: `${home}/cert.pem`, keyFile: `${home}/key.pem` }
  const settings = { ...defaultSettings, port: 0, home, tls }
  let admin = ''
  const saveAdminToken = (token: string): void => {
    admin = token
  }
  const openJournal = async () => new MemoryJournal()
  const log = pino({ level: 'silent' })
  const service = await startService(settings, { version: '0', log, openJournal, platform, saveAdminToken })
  t.teardown(() => service.close())
  const listed = async (query = '', token = admin): Promise<any[]> =>
    (await call(`${service.url}/api/attention${query}`, token, 'GET')).items
  await call(`${service.url}/api/projects`, admin, 'POST', { key: 'shop', name: 'Shop' })
  const scan = { entry_event: 'scan_requested', throttle: 'full' }
  await call(`${service.url}/api/projects/shop/run-requests`, admin, 'POST', scan)
  const confined = { name: 'ada', roles: ['viewer'], projects: ['shop'] }
  const { token } = await call(`${service.url}/api/tokens`, admin, 'POST', confined)
  const reasons = (items: any[]) => items.map(({ reason }) => reason)
  t.same(reasons(await listed()), ['unapproved'])
  platform.advance(DAY_MS)
  const items = await listed()
  t.same(reasons(items), ['unapproved', 'certificate_expiring'])
  t.strictSame(items[1], {
    kind: 'certificate',
    reason: 'certificate_expiring',
    project: 'system',
    since: new Date(endMs - 14 * DAY_MS).toISOString(),
    certificate: { expires_at: new Date(endMs).toISOString() },
  })
  t.same(reasons(await listed('?reason=certificate_expiring')), ['certificate_expiring'])
  t.same(reasons(await listed('?reason=lost')), [])
  t.same(reasons(await listed('?project=shop')), ['unapproved'])
  t.same(reasons(await listed('', token)), ['unapproved'], 'it sees nothing of the service')
  const first = await call(`${service.url}/api/attention?limit=1`, admin, 'GET')
  const rest = await listed(`?limit=1&cursor=${first.next_cursor}`)
  t.same(reasons([...first.items, ...rest]), ['unapproved', 'certificate_expiring'])
  platform.advance(11 * DAY_MS)
  t.same(reasons(await listed()), ['certificate_expiring', 'unapproved'])
})
