/** The newest events kept in memory for watchers that fall behind are bounded by number and by text. */
import t from 'tap'
import { streamLimits } from '../../../runtime/stream/limits.ts'
import { LogWindow } from '../../../runtime/stream/log-window.ts'
import { holdsOnceCollected } from '../../collect.ts'
import { committedEvent, FakeLog } from './fake-log.ts'

for (const [of, chars, count] of [
  ['large', 500_000, 60],
  ['small', 1_000, 9_000],
] as const) {
  t.test(`of ${of} events the window holds no more than the tail limits allow`, async (t) => {
    const window = new LogWindow(new FakeLog(), streamLimits)
    const held: WeakRef<object>[] = []
    for (let sequence = 1; sequence <= count; sequence++) {
      const event = { ...committedEvent(sequence, { event_type: 'noted', project: 'a' }), text: 'x'.repeat(chars) }
      held.push(new WeakRef(event))
      window.commit([event])
    }
    const kept = (): number => held.filter((one) => one.deref() !== undefined).length
    const most = Math.min(streamLimits.tailEventsMax, Math.floor(streamLimits.tailCharsMax / chars))
    t.ok(await holdsOnceCollected(() => kept() <= most), `${kept()} of ${count} events are held`)
    t.equal(window.newest(count - most, count)!.length, most, 'and can return these')
    t.equal(window.newest(count - most - 1, count), undefined)
  })
}
