/** Cursors: encoding, decoding, and the reason given when one cannot be used. */
import fc from 'fast-check'
import t from 'tap'
import { encodeCursor, oldestCursor, placeOf } from '../../../runtime/stream/cursor.ts'

const log = {
  epoch: 'k3j9x0q2m4zz',
  oldestSequence: 101,
  lastSequence: 5_000,
  incarnationAt: (sequence: number) => (sequence < 1_000 ? undefined : sequence < 3_000 ? 'first0' : 'second'),
}

t.test('the cursor of every sequence that the log holds decodes to that sequence', async () => {
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 5_000 }), (sequence) => {
      const place = placeOf(encodeCursor(log, sequence), log)
      return place.ok && place.sequence === sequence
    }),
  )
  const huge = { ...log, lastSequence: 3e15 }
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 3e15 }), (sequence) => {
      const place = placeOf(encodeCursor(log, sequence), huge)
      return place.ok && place.sequence === sequence
    }),
  )
})

t.test('a cursor before the oldest event is refused as cursor_too_old, with the oldest valid cursor', async (t) => {
  const oldest = encodeCursor(log, 100)
  t.equal(oldestCursor(log), oldest)
  t.match(placeOf(encodeCursor(log, 99), log), { ok: false, code: 'cursor_too_old', oldest })
  t.match(placeOf(oldest, log), { ok: true, sequence: 100 })
})

t.test('a cursor of another epoch, or past the end of the log, is refused as cursor_of_another_log', async (t) => {
  t.match(placeOf(encodeCursor({ ...log, epoch: 'another' }, 200), log), { ok: false, code: 'cursor_of_another_log' })
  t.match(placeOf(encodeCursor(log, 5_001), log), { ok: false, code: 'cursor_of_another_log' })
})

t.test('a cursor whose sequence was recorded by another incarnation is refused as cursor_of_another_log', async (t) => {
  const lost = { ...log, incarnationAt: () => 'lost00' }
  for (const sequence of [1_000, 2_999, 3_000, 5_000]) {
    const place = placeOf(encodeCursor(lost, sequence), log)
    t.match(place, { ok: false, code: 'cursor_of_another_log', detail: /older copy/, oldest: oldestCursor(log) })
  }
  const before = { ...log, incarnationAt: () => undefined }
  t.match(placeOf(encodeCursor(before, 2_000), log), { ok: false, code: 'cursor_of_another_log' })
  t.match(placeOf(encodeCursor(before, 500), log), { ok: true, sequence: 500 })
  t.match(placeOf(encodeCursor(lost, 500), log), { ok: true, sequence: 500 }, 'the incarnation is no longer known')
})

t.test('a text that is not a cursor is refused as invalid_cursor', async (t) => {
  const texts = [
    '',
    '.',
    'a.',
    '.a',
    'k3j9x0q2m4zz',
    'a.b.c.d',
    'a.b.',
    'a.b.C',
    'a.B',
    'a.-1',
    'a.01',
    'a. 1',
    'ä.1',
    'a.zzzzzzzzzzz',
    'A.1',
    `${'1'.repeat(65)}.1`,
  ]
  for (const text of texts) t.match(placeOf(text, log), { ok: false, code: 'invalid_cursor' }, JSON.stringify(text))
  fc.assert(
    fc.property(fc.string(), (text) => {
      const place = placeOf(text, log)
      return !place.ok
    }),
  )
})
