import t from 'tap'
import { markdownTable } from '../../bench/markdown.ts'

t.test('a table is aligned as plain text, with numbers to the right and special characters escaped', async (t) => {
  const table = markdownTable(
    ['what', 'ms'],
    [
      ['a | b', '1.5'],
      ['two\nlines', '10'],
    ],
  )
  t.equal(
    table,
    ['| what      |  ms |', '| --------- | --: |', '| a \\| b    | 1.5 |', '| two lines |  10 |'].join('\n'),
  )
})
