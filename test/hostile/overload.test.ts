/**
 * The short form of `npm run overload`: a few seconds of twice the peak load, and of each noisy neighbour. Checks
 * promises but no times, because the machine runs other tests too.
 */
import t from 'tap'
import { brokenPromises, overload } from './overload.ts'

t.test(
  'under twice its peak load the service loses nothing it acknowledged, ends no lease and refuses with Retry-After',
  { timeout: 240_000 },
  async (t) => {
    const log = (line: string): void => t.comment(line)
    const report = await overload({ home: t.testdir(), seconds: 5, peakSeconds: 2, noisySeconds: 3, log })
    t.same(brokenPromises(report), [])
    t.ok(report.flood.taken.count > 0 && report.sampled > 0, `${report.flood.taken.count} creates were accepted`)
  },
)
