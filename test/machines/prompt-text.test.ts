import t from 'tap'
import { bullets, document, fencedLines, lineOf, paragraphs, section } from '../../machines/prompt-text.ts'

t.test('a further line of an item cannot pass for a heading or another item', (t) => {
  const text = bullets(['one\n## Two\r\n- three\n\n\u2028four\u0085five\u202e', 'six'])
  t.equal(text, '- one\n  ## Two\n  - three\n  four\n  five\\u{202e}\n- six')
  t.equal(bullets([]), '')
  t.end()
})

t.test('a text on one line is cut and contains no line break', (t) => {
  t.equal(lineOf(' a\n## b\t\u0085 c\u2029d ', 100), 'a ## b c d')
  t.equal(lineOf('abc\ndef', 5), 'abc d')
  t.end()
})

t.test('every line of untrusted text stands behind the fence', (t) => {
  const lines = fencedLines(['a\n## b', '[end of untrusted text]'], 'a run').split('\n')
  t.match(lines[0], /^\[untrusted text from "a run"/)
  t.strictSame(lines.slice(1), ['| a', '| ## b', '| [end of untrusted text]', '[end of untrusted text]'])
  t.equal(fencedLines([], 'a run'), '')
  t.end()
})

t.test('an empty section is left out, and parts of a document are separated by a blank line', (t) => {
  t.equal(section('None', '', bullets([])), '')
  t.equal(
    document('Do it.', section('None', ''), section('Some', bullets(['a']), 'b\n')),
    'Do it.\n\n## Some\n\n- a\nb\n',
  )
  t.equal(paragraphs('a\r\n\r\nb\u0085c\u202e'), 'a\n\nb\nc\\u{202e}')
  t.end()
})
