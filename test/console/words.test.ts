import t from 'tap'
import {
  ageOf,
  beginningOf,
  counted,
  endOf,
  hrefFor,
  isState,
  isTime,
  momentOf,
  piecesOf,
  printed,
  readable,
  toneOf,
} from '../../console/words.ts'

const NOW = Date.parse('2026-01-31T12:00:00Z')
const ITEM = 'wi_0a1b2c3d4e5f60718293a4b5'

t.test('an age is told in its two largest units', async (t) => {
  const ages = { '11:59:59': '1s', '11:58:00': '2m', '11:57:55': '2m 5s', '09:00:00': '3h', '08:48:00': '3h 12m' }
  const edges = { '12:00:00': '0s', '11:59:00': '1m', '11:00:01': '59m 59s' }
  for (const [time, age] of Object.entries({ ...ages, ...edges })) t.equal(ageOf(`2026-01-31T${time}Z`, NOW), age)
  t.equal(ageOf('2026-01-30T12:00:01Z', NOW), '23h 59m')
  t.equal(ageOf('2026-01-28T11:00:00Z', NOW), '3d 1h')
  t.equal(ageOf('2026-01-31T12:05:00Z', NOW), 'in 5m')
})

t.test('a time is shown in UTC', async (t) => {
  t.equal(momentOf('2026-01-31T23:30:00.123Z'), '2026-01-31 23:30:00')
  t.equal(isTime('2026-01-31T23:30:00.123Z'), true)
  t.equal(isTime('2026-01-31'), false)
  t.equal(isTime('2026-13-45T99:99:99Z'), false)
})

t.test('ids in a text lead to the pages of what they name', async (t) => {
  t.same(piecesOf(`held by ${ITEM}.`), [{ text: 'held by ' }, { text: ITEM, href: `#/items/${ITEM}` }, { text: '.' }])
  t.same(piecesOf('no id, not even wi_0a1b'), [{ text: 'no id, not even wi_0a1b' }])
  t.same(piecesOf(ITEM), [{ text: ITEM, href: `#/items/${ITEM}` }])
  t.same(piecesOf(''), [])
})

t.test('a member leads by its name or by the prefix of its id', async (t) => {
  t.equal(hrefFor('spring', 'campaign'), '#/campaigns/spring')
  t.equal(hrefFor('a/b?c', 'session_id'), '#/sessions/a%2Fb%3Fc')
  t.equal(hrefFor(ITEM), `#/items/${ITEM}`)
  t.equal(hrefFor('tok_0a1b2c3d4e5f60718293a4b5'), undefined)
  t.equal(hrefFor('spring'), undefined)
  t.equal(hrefFor('spring', 'constructor'), undefined)
  t.equal(hrefFor('constructor_0a1b2c3d4e5f60718293a4b5'), undefined)
})

t.test('output loses colours, titles, links and control characters, and nothing else', async (t) => {
  t.equal(printed('\u001b[1;32mok\u001b[0m\n[done] 5\u0007\tx'), 'ok\n[done] 5\tx')
  t.equal(printed('\u001b]0;title\u0007a \u001b]8;;http://x/\u001b\\link\u001b]8;;\u001b\\'), 'a link')
  t.equal(printed('10%\r20%\r\ndone'), '10%\n20%\ndone', 'a line that was overwritten is one more line')
})

t.test('of a long text as much is shown as there is room for: its beginning, or its last whole lines', async (t) => {
  t.equal(beginningOf('abc', 3), 'abc')
  t.equal(beginningOf('abcd', 3), 'abc …')
  t.equal(endOf('a\nbc\nd\n', 8), 'a\nbc\nd\n')
  t.equal(endOf('a\nbc\nd\n', 4), 'd\n')
  t.equal(endOf('abcdef', 3), 'def')
  t.equal(endOf('abcdef\n', 3), 'ef\n')
})

t.test('what is invisible, or turns a text around, is written out', async (t) => {
  t.equal(readable('a\u202eb\u200bc\nd'), 'a\\u{202e}b\\u{200b}c\nd')
  t.same(piecesOf('\u2066x'), [{ text: '\\u{2066}x' }])
})

t.test('a text is the name of a state only if it looks like one', async (t) => {
  t.equal(isState('needs_decision'), true)
  t.equal(isState('Customers trust our prices.'), false)
  t.equal(isState('x'.repeat(41)), false)
})

t.test('a state has a colour, an unknown one a quiet one', async (t) => {
  t.equal(toneOf('landed'), 'good')
  t.equal(toneOf('running'), 'busy')
  t.equal(toneOf('held'), 'warn')
  t.equal(toneOf('lost'), 'bad')
  t.equal(toneOf('never heard of'), 'quiet')
  t.equal(counted(1, 'slot'), '1 slot')
  t.equal(counted(2, 'slot'), '2 slots')
})
