/**
 * The short form of `npm run overload`: a few seconds of twice the peak, and of each noisy neighbour. What was promised
 * is held, and no time: the machine runs other tests too.
 */
import t from 'tap'
import { brokenPromises, overload } from './overload.ts'

t.test('twice what the service can take: what it promised is kept', { timeout: 240_000 }, async (t) => {
  const log = (line: string): void => t.comment(line)
  const report = await overload({ home: t.testdir(), seconds: 5, peakSeconds: 2, noisySeconds: 3, log })
  t.same(brokenPromises(report), [])
  t.ok(report.flood.taken.count > 0 && report.sampled > 0, `${report.flood.taken.count} taken`)
})
