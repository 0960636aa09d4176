import t from 'tap'
import { inLaterTurns, namedBy } from '../../http/later-turns.ts'
import { HeldNature } from './held-nature.ts'
import { startTestService } from './service-harness.ts'

/** A service whose turns are taken by hand, and an exchange whose client may go away. */
function world() {
  const turns: (() => void)[] = []
  const problems: string[] = []
  const exchange = {
    done: false,
    later: (go: () => void) => () => {
      if (!exchange.done) go()
    },
    problem: (code: string) => void problems.push(code),
  }
  const journal = { hasFailed: false }
  const service = {
    runtime: { nature: { nextTurn: (run: () => void) => void turns.push(run) } },
    hasFailed: () => journal.hasFailed,
  }
  const wait = (find: () => string | undefined, turnsMax?: number) => {
    const told: (string | undefined)[] = []
    inLaterTurns(service as never, exchange as never, find, (found) => void told.push(found), turnsMax)
    return told
  }
  return { turns, exchange, journal, problems, wait }
}

t.test('what is there is told at once, what comes later then, and what does not come is given up', (t) => {
  const { turns, wait } = world()
  t.same(
    wait(() => 'there'),
    ['there'],
  )
  let message: string | undefined
  const told = wait(() => message)
  turns.shift()!()
  t.same(told, [])
  message = 'came'
  turns.shift()!()
  t.same(told, ['came'])
  t.equal(turns.length, 0)
  const never = wait(() => undefined, 3)
  for (let turn = 0; turn < 3; turn++) turns.shift()!()
  t.same(never, [undefined])
  t.equal(turns.length, 0)
  t.end()
})

t.test('nobody is waited for who has gone', (t) => {
  const { turns, exchange, wait } = world()
  const told = wait(() => undefined)
  exchange.done = true
  turns.shift()!()
  t.same(told, [])
  t.equal(turns.length, 0)
  t.end()
})

t.test('what a failed journal did not take is not told of as if it had', (t) => {
  const { turns, journal, problems, wait } = world()
  const told = wait(() => undefined)
  journal.hasFailed = true
  turns.shift()!()
  t.same(told, [])
  t.same(problems, ['storage_failed'])
  t.equal(turns.length, 0)
  t.end()
})

t.test('what is on its way to be made is waited for, whatever is asked of it, and nothing else is', async (t) => {
  const nature = new HeldNature()
  const s = await startTestService(t, {}, { nature })
  await s.project('greeter')
  const campaign = (name: string) => ({
    name,
    project: 'greeter',
    mission: 'Greet everybody.',
    done_evidence: [{ kind: 'gate', command: 'npm test' }],
  })
  await s.expect(404, 'GET', '/api/campaigns/unheard-of')
  nature.hold()
  const inFlight = async (n: number): Promise<void> => {
    while (!(await s.call('GET', '/metrics')).body.includes(`intendant_messages_in_flight ${n}\n`));
  }
  const made = s.call('POST', '/api/campaigns', campaign('made'))
  await inFlight(1)
  const read = s.call('GET', '/api/campaigns/made')
  const moved = s.call('POST', '/api/campaigns/made/pause', { reason: 'Wait.' })
  const nowhere = await s.call('GET', '/api/campaigns/never')
  t.equal(nowhere.status, 404, 'for nothing nobody waits')
  nature.letGo()
  t.equal((await made).status, 201)
  t.equal((await read).status, 200)
  t.equal((await moved).status, 200)
})

t.test('what is known to come is named by the first parameter of its path', (t) => {
  t.equal(namedBy('/api/run-requests/:id/accepted'), 'run_request')
  t.equal(namedBy('/hypotheses/:id/accept'), 'hypothesis')
  t.equal(namedBy('/api/campaigns/:name'), 'campaign')
  t.equal(namedBy('/api/projects/:id/run-requests'), undefined)
  t.equal(namedBy('/api/campaigns'), undefined)
  t.end()
})
