import t from 'tap'
import { MOVE_PATHS, publicMoves } from '../../http/public-moves.ts'
import { modules } from '../../machines/index.ts'
import { startTestService } from './service-harness.ts'

/** Moves that are no path of their own, by the method that makes them. */
const BY_METHOD: Readonly<Record<string, string>> = {
  create: 'post',
  record: 'post',
  update: 'patch',
  archive: 'patch',
  unarchive: 'patch',
  remove: 'delete',
  revoke: 'delete',
}

/** The messages that may come from outside, of every kind. */
function messagesFromOutside(): Set<string> {
  const found = new Set<string>()
  for (const { machine, internal } of Object.values(modules)) {
    for (const { on } of Object.values(machine.states as Record<string, { on: object }>))
      for (const type of Object.keys(on)) if (!internal.includes(type)) found.add(type)
  }
  return found
}

t.test('a refusal names moves as the paths and methods of the API do', async (t) => {
  const s = await startTestService(t)
  const paths: readonly [string, object][] = Object.entries(s.openApi.paths)
  const messages = messagesFromOutside()
  for (const type of messages) {
    const [word = ''] = publicMoves([type])
    const isPath = paths.some(([path]) => path.split('/').includes(word))
    const method = BY_METHOD[word]
    t.ok(isPath || paths.some(([, methods]) => method !== undefined && method in methods), `${type}: ${word}`)
  }
  for (const type of Object.keys(MOVE_PATHS)) t.ok(messages.has(type), type)

  await s.project('shop')
  const record = { slug: 'refunds', title: 'Refunds', capability: 'Pays back' }
  const { id } = (await s.expect(201, 'POST', '/api/projects/shop/intent-records', record)).body
  const refused = await s.expect(409, 'POST', `/api/intent-records/${id}/activate`)
  const allowed = ['accept', 'contradict', 'relationships', 'supersede', 'update']
  t.match(refused.body, { code: 'illegal_move', state: 'proposed', allowed })
})
