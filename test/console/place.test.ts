import t from 'tap'
import { hrefIn, hrefOf, placeOf } from '../../console/place.ts'

t.test('an address is read as it was written', async (t) => {
  const { path, query } = placeOf(hrefOf(['sessions', 'a/b c?'], { state: 'x,y', none: undefined }))
  t.same(path, ['sessions', 'a/b c?'])
  t.same([...query], [['state', 'x,y']])
})

t.test('an address keeps the project that is chosen, whatever else it says', async (t) => {
  t.equal(hrefIn('shop', '#/'), '#/?project=shop')
  t.equal(hrefIn('shop', '#/items?state=submitted%2Cqueued'), '#/items?state=submitted%2Cqueued&project=shop')
  t.equal(hrefIn('shop', '#/items?project=bank'), '#/items?project=shop')
  t.equal(hrefIn('shop', '#/sessions/a%2Fb%3Fc'), '#/sessions/a%2Fb%3Fc?project=shop')
  t.equal(hrefIn(undefined, '#/items?state=held&project=bank'), '#/items?state=held')
})

t.test('an address that somebody typed is never an error', async (t) => {
  t.same(placeOf('').path, [])
  t.same(placeOf('#').path, [])
  t.same(placeOf('#/items/%E0%A4%A').path, ['items', '%E0%A4%A'])
})
