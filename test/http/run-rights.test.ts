/** Which rights a runner's runs may be given, and by whom. */
import t from 'tap'
import { RIGHTS, RUN_RIGHTS } from '../../machines/rights.ts'
import { startTestService } from './service-harness.ts'

t.test(
  'only a caller who holds the rights of its runs gives them to a runner, hands it on or widens its projects',
  async (t) => {
    const s = await startTestService(t)
    await s.project('mine')
    await s.project('more')
    const keeper = { token: await s.token('keeper', { rights: ['view', 'runner.manage'] }) }
    const manager = { token: await s.token('manager', { rights: ['view', 'work.submit', 'runner.manage'] }) }
    const path = '/api/runners/builder'
    const refused = async (method: string, at: string, body: object): Promise<void> => {
      const { code, detail } = (await s.expect(403, method, at, body, keeper)).body
      t.equal(code, 'grants_too_much', `${method} ${at}`)
      t.match(detail, /work\.submit/)
    }
    const run_rights = ['view', 'work.submit']
    await refused('POST', '/api/runners', { id: 'other', allowed_projects: ['mine'], run_rights })
    t.same(
      (await s.expect(201, 'POST', '/api/runners', { id: 'plain' }, keeper)).body.run_rights,
      [],
      'none unless given',
    )
    const made = { id: 'builder', allowed_projects: ['mine'], run_rights }
    t.same((await s.expect(201, 'POST', '/api/runners', made, manager)).body.run_rights, run_rights)
    await refused('PATCH', path, { run_rights })
    await refused('PATCH', path, { allowed_projects: ['mine', 'more'] })
    await refused('POST', `${path}/token`, {})
    await s.expect(200, 'PATCH', path, { capacity: 2, allowed_projects: ['mine'] }, keeper)
    await s.expect(201, 'POST', `${path}/token`, {}, manager)
    const widened = { allowed_projects: ['more'], run_rights: ['view'] }
    t.match(
      (await s.expect(200, 'PATCH', path, widened, keeper)).body,
      widened,
      'what is taken away at once is no grant',
    )
    await s.expect(201, 'POST', `${path}/token`, {}, keeper)
  },
)

t.test('a right that is not safe in the hands of an agent is refused by its place', async (t) => {
  const s = await startTestService(t)
  await s.runner('builder')
  const allowed: readonly string[] = RUN_RIGHTS
  for (const right of RIGHTS.filter((one) => !allowed.includes(one))) {
    for (const [method, path, more] of [
      ['POST', '/api/runners', { id: 'other' }],
      ['PATCH', '/api/runners/builder', {}],
    ] as const) {
      const { body } = await s.expect(422, method, path, { ...more, run_rights: ['view', right] })
      t.match(body, { code: 'invalid_body', errors: [{ pointer: '/run_rights/1' }] }, `${method} ${right}`)
    }
  }
})
