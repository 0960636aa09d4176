/** Tokens of runs against committed state that the test sets. */
import t from 'tap'
import { RUN_REQUEST_STATES } from '../../../machines/run-request/states.ts'
import type { Entry } from '../../../runtime/access/principal.ts'
import { RunTokens } from '../../../runtime/access/run-tokens.ts'
import type { Runtime } from '../../../runtime/api.ts'

const ID = `runreq_${'0123456789ab'.repeat(2)}`
const KEY = Buffer.alloc(32, 1)

function world(epoch = 'one', key: Buffer | undefined = KEY) {
  const request = {
    value: 'started',
    context: {
      id: ID,
      project: 'shop',
      attempt: 1,
      created_at: '2026-01-01T00:00:00.000Z',
      offered_to: 'r1' as string | undefined,
    },
  }
  const runner = {
    value: 'registered',
    context: { id: 'r1', allowed_projects: ['shop'], run_rights: ['view'] as string[] },
  }
  const reads: string[] = []
  const runtime = {
    journal: { epoch },
    read({ kind }: { kind: string }) {
      reads.push(kind)
      return kind === 'runner' ? runner : request
    },
  } as unknown as Runtime
  const over: Entry[] = []
  const tokens = new RunTokens(runtime, { read: () => key, make: () => KEY }, (entry) => over.push(entry))
  const commit = (kind: string, after: { context: { id: string } }): void =>
    tokens.follow({ ref: { kind, id: after.context.id }, after } as never)
  return { tokens, request, runner, reads, over, commit }
}

t.test('in each state of the request, a token is given out and admits exactly while its command works', (t) => {
  const token = world().tokens.tokenOf(world().request as never)!
  for (const state of RUN_REQUEST_STATES) {
    const { tokens, request } = world()
    request.value = state
    const isWorking = state === 'accepted' || state === 'started'
    t.equal(tokens.tokenOf(request as never) !== undefined, isWorking, `${state}: given out`)
    t.equal(tokens.find(token) !== undefined, isWorking, `${state}: admitted`)
  }
  t.end()
})

t.test('a token holds for one log, one key, one request and one attempt', (t) => {
  const here = world()
  const token = here.tokens.tokenOf(here.request as never)!
  t.ok(here.tokens.find(token))
  for (const [what, other] of [
    ['another log, with the same key', world('two')],
    ['another key', world('one', Buffer.alloc(32, 2))],
  ] as const) {
    t.equal(other.tokens.find(token), undefined, what)
    t.same(other.reads, [], `${what}: nothing is read`)
  }
  const later = world()
  later.request.context.attempt = 2
  t.equal(later.tokens.find(token), undefined, 'another attempt')
  const anew = world()
  anew.request.context.created_at = '2026-01-01T00:00:00.001Z'
  t.equal(anew.tokens.find(token), undefined, 'a later request of the same id')
  const without = world()
  const none = new RunTokens({} as Runtime, { read: () => undefined, make: () => KEY }, () => {})
  t.equal(none.find(token), undefined, 'without a key nobody is let in, and none is made')
  without.request.context.offered_to = undefined
  t.equal(without.tokens.find(token), undefined, 'nobody holds it')
  t.end()
})

t.test('an entry ends once, with the commit that ends its attempt or changes its rights, and not before', (t) => {
  const { tokens, request, runner, over, commit, reads } = world()
  const token = tokens.tokenOf(request as never)!
  const first = tokens.find(token)
  t.equal(tokens.find(token), first, 'one object as long as it holds')
  t.equal(reads.filter((kind) => kind === 'run_request').length, 1, 'read once')
  commit('run_request', request)
  commit('runner', runner)
  commit('run_request', { ...request, value: 'completed', context: { ...request.context, id: 'another' } } as never)
  t.same(over, [], 'what says the same, or is about another, ends nothing')

  commit('runner', { ...runner, context: { ...runner.context, id: 'r1', run_rights: ['event.emit'] } } as never)
  t.strictSame(over, [first])
  commit('runner', { ...runner, value: 'removed' } as never)
  t.equal(over.length, 1)
  const second = tokens.find(token)
  t.not(second, first)
  commit('runner', { ...runner, value: 'removed' } as never)
  t.strictSame(over, [first, second], 'its runner is removed')
  const third = tokens.find(token)
  const narrowed = { ...runner, context: { ...runner.context, allowed_projects: ['bank'] } } as never
  commit('runner', { ...runner, context: { ...runner.context, allowed_projects: ['*'] } } as never)
  t.equal(over.length, 2, 'it may work for more projects')
  commit('runner', narrowed)
  t.strictSame(over, [first, second, third], 'it may no longer work for this one')
  commit('runner', runner)
  const fourth = tokens.find(token)
  commit('run_request', { ...request, value: 'lost' } as never)
  commit('run_request', { ...request, value: 'lost' } as never)
  t.strictSame(over, [first, second, third, fourth])
  t.end()
})
