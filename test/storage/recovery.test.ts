import t from 'tap'
import { applyRedo } from '../../storage/recovery.ts'

t.test('a redo that cannot be read rejects only once nothing writes the view any more', async (t) => {
  const said: string[] = []
  const log = { begin: () => void said.push('begin'), flush: () => void said.push('flush') }
  const applier = {
    add: () => void said.push('add'),
    waitForRoom: () => false,
    fail: ({ message }: Error) => void said.push(message),
    atRest: async () => {
      await new Promise(setImmediate)
      said.push('at rest')
    },
  }
  function* batches() {
    yield { batch: 1, firstSequence: 1, lastSequence: 0, steps: [] }
    throw new Error('no redo')
  }
  await t.rejects(applyRedo(batches(), log as never, {} as never, applier as never), { message: 'no redo' })
  t.same(said, ['begin', 'add', 'no redo', 'at rest'])
})
