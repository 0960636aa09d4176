import t from 'tap'
import { tellOfCertificate } from '../../http/certificate-notice.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'

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
