import t from 'tap'
import { projectDocument } from '../../machines/documents/project.ts'
import { projectModule as module } from '../../machines/project.ts'
import { compile } from '../../machines/schema.ts'
import { EVENT } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('project')

const CREATE = {
  type: 'create',
  id: `proj_${'a'.repeat(24)}`,
  key: 'acme',
  name: 'Acme',
  idempotency_key: 'key-1',
  fingerprint: 'fingerprint-1',
}
const advance = { to: { kind: 'campaign', id: 'pay' }, message: { type: 'advance', event_id: EVENT.id } }
const command = { to: { kind: 'run_request', id: 'runreq_1' }, message: { type: 'create' } }
const M = {
  create: at(0, CREATE),
  'create (other body)': at(1, { ...CREATE, fingerprint: 'fingerprint-2' }),
  'create (other key)': at(1, { ...CREATE, idempotency_key: 'key-2' }),
  update: at(2, { type: 'update', name: 'Acme Ltd' }),
  'update (same)': at(2, { type: 'update', name: 'Acme' }),
  'update (archives)': at(2, { type: 'update', name: 'Old Acme', archived: true }),
  'update (unarchives)': at(2, { type: 'update', archived: false }),
  archive: at(3, { type: 'archive' }),
  unarchive: at(4, { type: 'unarchive' }),
  set_charter: at(5, { type: 'set_charter', charter: { mission: 'sell anvils' } }),
  record: at(6, { type: 'record', events: [EVENT] }),
  'record (commands)': at(6, { type: 'record', events: [EVENT], commands: [command] }),
  'record (advances)': at(6, { type: 'record', events: [EVENT], advances: [advance] }),
}
const active = after(module, [M.create])
const archived = after(module, [M.create, M.archive])

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), active, archived }, M), 'project')
  t.end()
})

t.test('an update states what changed, and the document shows it', (t) => {
  const named = step(module, active, at(2, { type: 'update', name: 'Acme Ltd', repository: 'git@example.com:acme' }))
  t.match(named.facts, [{ type: 'project_updated', payload: { changed: ['name', 'repository'], state: 'active' } }])
  const cleared = step(module, named.snapshot, at(3, { type: 'update', repository: null, archived: true }))
  t.match(cleared.facts, [{ payload: { changed: ['repository', 'archived'], state: 'archived' } }])
  t.notOk('repository' in module.document(cleared.snapshot))
  const back = step(module, cleared.snapshot, at(4, { type: 'update', name: 'Acme & Sons', archived: false }))
  const renamed = { name: 'Acme & Sons', changed: ['name', 'archived'], state: 'active' }
  t.match(back.facts, [{ type: 'project_updated', payload: renamed }])
  const opened = step(module, active, at(5, { type: 'update', max_writers: 3 }))
  t.match(opened.facts, [{ payload: { changed: ['max_writers'], max_writers: 3 } }])
  t.equal((module.document(active) as any).max_writers, 1)
  t.strictSame(module.terms(opened.snapshot).at(-1)?.value, 'several', 'hand-out finds it when it starts')
  t.notOk(module.terms(step(module, opened.snapshot, at(6, { type: 'update', max_writers: 1 })).snapshot)[2])
  for (const snapshot of [opened.snapshot, active, archived, named.snapshot, cleared.snapshot, back.snapshot]) {
    t.strictSame(compile(projectDocument)(module.document(reopened(module, snapshot))), [])
  }
  t.end()
})

t.test('a charter that says the same again changes nothing', (t) => {
  const { snapshot, facts } = step(module, active, M.set_charter)
  t.match(facts, [{ type: 'project_updated', payload: { changed: ['charter'] } }])
  t.match(step(module, snapshot, M.set_charter), { repeat: 'unchanged', facts: [] })
  const cleared = step(module, snapshot, at(6, { type: 'set_charter', charter: {} }))
  t.match(cleared.facts, [{ payload: { changed: ['charter'] } }])
  t.end()
})

t.test('events from others are recorded unchanged, and commands are sent to their receivers', (t) => {
  const { facts, sends, snapshot } = step(module, active, M['record (commands)'])
  t.strictSame(facts, [{ type: EVENT.event_type, recorded: EVENT }])
  t.strictSame(sends, [command])
  t.not(snapshot, active)
  t.equal(module.envelope(snapshot.context).project, 'acme')
  t.end()
})

t.test('an advance request is sent with its event, and not again if the log already has that event', (t) => {
  t.strictSame(step(module, active, M['record (advances)']).sends, [advance])
  // The runtime leaves out events that the log already has.
  const again = { type: 'record', events: [], advances: [advance], commands: [command] }
  t.strictSame(step(module, active, at(7, again)).sends, [command], 'a run request is found by its id')
  t.end()
})
