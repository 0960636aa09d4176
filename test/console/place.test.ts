import t from 'tap'
import { hrefOf, placeOf } from '../../console/place.ts'

t.test('an address is read as it was written', async (t) => {
  const { path, query } = placeOf(hrefOf(['sessions', 'a/b c?'], { state: 'x,y', none: undefined }))
  t.same(path, ['sessions', 'a/b c?'])
  t.same([...query], [['state', 'x,y']])
})

t.test('an address that somebody typed is never an error', async (t) => {
  t.same(placeOf('').path, [])
  t.same(placeOf('#').path, [])
  t.same(placeOf('#/items/%E0%A4%A').path, ['items', '%E0%A4%A'])
})
