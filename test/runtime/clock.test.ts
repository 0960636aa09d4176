import t from 'tap'
import { Clock } from '../../runtime/clock.ts'

t.test('readings strictly increase even when the wall clock stands still or goes back', async (t) => {
  let now = 1_700_000_000_000
  const clock = new Clock(() => now)
  const readings = [clock.nextMicros(), clock.nextMicros()]
  now -= 5_000
  readings.push(clock.nextMicros())
  now += 60_000
  readings.push(clock.nextMicros())
  for (let i = 1; i < readings.length; i++) t.ok(readings[i]! > readings[i - 1]!)
  t.equal(new Set(readings.map((micros) => clock.text(micros))).size, 4)
})

t.test('a reading is written in RFC 3339 with microseconds', async (t) => {
  const clock = new Clock(() => 0)
  t.equal(clock.text(1_700_000_000_000_007), '2023-11-14T22:13:20.000007Z')
  t.equal(clock.text(1_700_000_000_999_999), '2023-11-14T22:13:20.999999Z')
  t.equal(clock.text(1_700_000_001_000_000), '2023-11-14T22:13:21.000000Z')
})
