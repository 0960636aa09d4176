import t from 'tap'
import { isBusy, provenance } from '../../bench/markdown.ts'
import { busyTicks } from '../../bench/neighbours.ts'

t.test('busy time excludes idle time and time waiting for disks', async (t) => {
  t.equal(busyTicks('cpu  100 20 30 9000 800 4 5 6 0 0\ncpu0 1 2 3 4 5 6 7 8 0 0\n'), 165)
})

t.test('numbers measured beside busy processes are marked as such', async (t) => {
  t.equal(isBusy({}), false)
  t.equal(isBusy({ othersCores: 0.1 }), false)
  t.match(provenance({ cores: 2, othersCores: 1.4 }), 'others used 1.4')
  t.notMatch(provenance({ cores: 2, othersCores: 0.1 }), 'others')
})
