import t from 'tap'
import { markdownTable } from '../../bench/markdown.ts'

t.test('a table lines up as plain text, numbers to the right, and no cell can break it', async (t) => {
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
