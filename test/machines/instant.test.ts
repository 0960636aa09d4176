import t from 'tap'
import { instantMs, utc, utcOf } from '../../machines/instant.ts'

t.test('a time is accepted only if RFC 3339 can express it in UTC, whatever its offset', (t) => {
  const told: readonly (readonly [string, string | undefined])[] = [
    ['2026-01-31T12:00:00+01:00', '2026-01-31T11:00:00.000Z'],
    ['9999-12-31T23:59:59-23:59', '9999-12-31T23:59:59.999Z'],
    ['0000-01-01T00:00:00+23:59', '0000-01-01T00:00:00.000Z'],
    ['2016-12-31T23:59:60Z', undefined],
  ]
  for (const [time, expected] of told) {
    t.equal(utc(time), expected, time)
    t.same(instantMs(time), expected === undefined ? Number.NaN : Date.parse(expected), time)
  }
  t.equal(utcOf(8.64e15), '9999-12-31T23:59:59.999Z')
  t.end()
})
