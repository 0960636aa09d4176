import { createHash } from 'node:crypto'
import t from 'tap'
import { modules } from '../../machines/index.ts'
import { FakeRuntime } from '../runtime/dispatch/fake.ts'
import { snapshotFile } from './step.ts'

t.snapshotFile = snapshotFile('versions')

/** Names of states, messages, guards, actions and targets: what stored snapshots and messages rely on. */
function structureOf(definition: object): string {
  return JSON.stringify(definition, (_, value) => (typeof value === 'function' ? 'function' : value))
}

t.test('a machine whose structure changes has a new version', (t) => {
  for (const [kind, { machine, version }] of Object.entries(modules)) {
    const hash = createHash('sha256').update(structureOf(machine.definition)).digest('hex').slice(0, 16)
    t.matchSnapshot(`${kind} version ${version}: ${hash}`, kind)
  }
  t.end()
})

t.test(
  'a change in how a demand’s value is made needs a new version, or old index rows would be left behind',
  async (t) => {
    const runtime = new FakeRuntime()
    runtime.create()
    runtime.create({ project: 'beta', throttle: 'full', approved: true, repository: 'shop', labels: ['b', 'a', 'b'] })
    runtime.create({ runner_id: 'runner_1', lane: 'maintenance', access: 'read_only', priority: -3 })
    runtime.create({ throttle: 'full', approved: false })
    runtime.run()
    const { version, terms } = modules.run_request
    for (const [n, request] of runtime.everyRequest().entries()) {
      const { value } = terms(request).find(({ index }) => index === 'demand')!
      t.matchSnapshot(`run_request version ${version}: ${value}`, `demand ${n}`)
    }
  },
)

t.test('there is a migration from every older version', (t) => {
  for (const [kind, { version, migrations }] of Object.entries(modules)) {
    const from = Object.keys(migrations).map(Number)
    t.strictSame(
      from,
      Array.from({ length: version - 1 }, (_, index) => index + 1),
      kind,
    )
  }
  t.end()
})

t.test('each module is registered under its own kind', (t) => {
  for (const [kind, module] of Object.entries(modules)) t.equal(module.kind, kind)
  t.end()
})
