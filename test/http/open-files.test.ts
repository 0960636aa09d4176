/** When the log says that no more files can be opened. */
import t from 'tap'
import { tellOfOpenFiles } from '../../http/open-files.ts'
import { AdvanceablePlatform } from '../platforms/advanceable.ts'

t.test('the limit of open files is logged once, and again only after a minute with room', async (t) => {
  const platform = new AdvanceablePlatform()
  const lines: string[] = []
  let hasRoom = true
  const end = tellOfOpenFiles(platform, { warn: (line: string) => lines.push(line) }, '/', () => hasRoom)
  const seconds = (count: number) => {
    for (let n = 0; n < count; n += 1) platform.advance(1_000)
    return lines.splice(0).length
  }
  t.equal(seconds(10), 0)
  hasRoom = false
  t.equal(seconds(10), 1)
  hasRoom = true
  t.equal(seconds(20), 0)
  hasRoom = false
  t.equal(seconds(10), 0, 'connections that come and go at the limit are one occurrence')
  hasRoom = true
  t.equal(seconds(70), 0)
  hasRoom = false
  t.equal(seconds(2), 1)
  end()
  hasRoom = true
  t.equal(seconds(70), 0)
  hasRoom = false
  t.equal(seconds(10), 0, 'nothing is looked at after the end')
})
