import fc from 'fast-check'
import t from 'tap'
import {
  bothForgotten,
  type ForgottenTimes,
  forgottenAt,
  mayBeForgotten,
} from '../../../storage/retention/forgotten-times.ts'

const NOW_MS = 10
const time = fc.integer({ min: 0, max: 20 })

t.test(
  'what may be forgotten: up to the latest past time removed, and between the future ones, over all steps',
  (t) => {
    fc.assert(
      fc.property(fc.array(fc.array(time, { maxLength: 4 }), { maxLength: 4 }), (steps) => {
        const kept = steps.reduce<ForgottenTimes>((all, times) => bothForgotten(all, forgottenAt(times, NOW_MS)), {})
        const past = steps.flat().filter((ms) => ms <= NOW_MS)
        const ahead = steps.flat().filter((ms) => ms > NOW_MS)
        for (let ms = 0; ms <= 21; ms++) {
          const isExpected = past.some((last) => ms <= last) || (ms >= Math.min(...ahead) && ms <= Math.max(...ahead))
          t.equal(mayBeForgotten(kept, ms), isExpected, `${ms} of ${JSON.stringify(steps)}`)
        }
      }),
      { numRuns: 300 },
    )
    t.end()
  },
)

t.test('a time that cannot be read bounds nothing', (t) => {
  t.same(forgottenAt([Number.NaN, 5, Number.NaN, 12], NOW_MS), { last: 5, ahead: [12, 12] })
  t.same(forgottenAt([Number.NaN], NOW_MS), {})
  t.end()
})
