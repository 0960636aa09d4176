import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import './folders-last.ts'

t.test(
  'what is called at the end of a test finds the folder of the test as it was, also in a nested test',
  async (t) => {
    const seen: Record<string, boolean> = {}
    const used = async (name: string): Promise<void> => {
      await t.test(name, async (t) => {
        const file = join(t.testdir(), 'file')
        writeFileSync(file, '')
        t.teardown(() => {
          seen[name] = existsSync(file)
        })
      })
    }
    await used('first')
    await used('second')
    t.same(seen, { first: true, second: true })
  },
)
