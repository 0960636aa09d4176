import fc from 'fast-check'
import t from 'tap'
import { markerOf, markersIn } from './markers.ts'

t.test('a marker is found in any text, but not if one of its bytes was changed', (t) => {
  const key = fc.stringMatching(/^w[0-9]t[0-9]$/)
  const digits = fc.stringMatching(/^[0-9a-f]{8}$/)
  fc.assert(
    fc.property(key, digits, fc.nat(), fc.integer({ min: 0, max: 127 }), (key, digits, place, byte) => {
      const marker = markerOf(key, digits)
      t.same(
        [...markersIn(`{"a":"${marker} x","b":"${marker}"}`)],
        [
          { marker, key },
          { marker, key },
        ],
      )
      const bytes = Buffer.from(marker)
      const at = place % bytes.length
      if (bytes[at] === byte) return
      bytes[at] = byte
      t.same([...markersIn(`"${bytes.toString('latin1')} x"`)], [])
    }),
    { numRuns: 300 },
  )
  t.end()
})
