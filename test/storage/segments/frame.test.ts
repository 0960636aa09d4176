/** What a frame writer keeps between two frames. */
import t from 'tap'
import { FrameWriter, frameOf, KIND, rowMatches } from '../../../storage/segments/frame.ts'
import { holdsOnceCollected } from '../../collect.ts'

t.test('the memory of a large frame is released after it, and the next frame is complete', async (t) => {
  const writer = new FrameWriter()
  const before = process.memoryUsage().arrayBuffers
  const isWhole = (chars: number): boolean => {
    writer.begin()
    writer.add(KIND.events, 1, ['ü'.repeat(chars)])
    const bytes = writer.finish(1, 1)
    return frameOf(bytes)!.rows.every((row) => rowMatches(bytes, row))
  }
  t.ok(isWhole(20 * 1024 * 1024))
  t.ok(isWhole(10))
  t.ok(await holdsOnceCollected(() => process.memoryUsage().arrayBuffers - before < 10 * 1024 * 1024))
})
