import t from 'tap'
import { pauseMs } from '../../../runtime/control/backoff.ts'
import { setAsideRetryMsMax } from '../../../runtime/limits.ts'

t.test('the pause doubles with each failure, up to its bound', async (t) => {
  t.same(
    [1, 2, 3, 4].map((failures) => pauseMs(failures, setAsideRetryMsMax)),
    [1_000, 2_000, 4_000, 8_000],
  )
  t.equal(pauseMs(5_000, setAsideRetryMsMax), setAsideRetryMsMax)
})
