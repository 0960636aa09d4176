import fc from 'fast-check'
import t from 'tap'
import { clipped, shown } from '../../machines/clipped.ts'

t.test('a text is cut to its bound, never within a character', (t) => {
  t.equal(clipped('abc', 3), 'abc')
  t.equal(clipped('abcd', 3), 'abc')
  t.equal(clipped('ab\u{1f6e0}', 3), 'ab')
  t.equal(clipped('ab\u{1f6e0}c', 4), 'ab\u{1f6e0}')
  t.equal(clipped('', 0), '')
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, max) => {
      const cut = clipped(text, max)
      return (
        cut.length <= max && text.startsWith(cut) && cut.isWellFormed() && cut.length >= Math.min(text.length, max) - 1
      )
    }),
  )
  t.end()
})

t.test('a name from outside is repeated cut to a readable length', (t) => {
  t.equal(shown('ir_1.r1'), 'ir_1.r1')
  t.equal(shown('x'.repeat(5_000)).length, 140)
  t.end()
})
