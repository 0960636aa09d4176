import assert from 'node:assert/strict'
import fc from 'fast-check'
import t from 'tap'
import { getShortestPaths } from 'xstate/graph'
import { type EventFields, prepareEvent } from '../../machines/events/envelope.ts'
import type { OwnFact } from '../../machines/machine.ts'
import { maintenanceNews } from '../../machines/maintenance-run/reports.ts'
import { maintenanceRunModule as module } from '../../machines/maintenance-run.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('maintenance-run')

const TRACE = 'c'.repeat(32)
const said = (event_type: string, project: string, payload: object, seconds = 0, more: Partial<EventFields> = {}) => {
  const occurred_at = `2026-01-01T02:00:${String(seconds).padStart(2, '0')}Z`
  const event = { event_type, project, occurred_at, throttle: 'full', payload, trace_id: TRACE, ...more } as EventFields
  return maintenanceNews(prepareEvent(event), '*')
}
const M = {
  begin: at(1, said('maintenance_run_started', 'shop', { project: 'shop' })!.message),
  'begin (for another project)': at(2, said('maintenance_run_started', 'till', { project: 'till' })!.message),
  project_ended: at(3, said('project_maintenance_completed', 'shop', { success: true }, 9)!.message),
  'project_ended (of none)': at(3, said('project_maintenance_completed', 'attic', { success: true })!.message),
  complete: at(4, said('maintenance_run_completed', 'shop', {})!.message),
  'complete (by another project)': at(4, said('maintenance_run_completed', 'attic', {})!.message),
  interrupt: at(5, { type: 'interrupt' }),
}
const running = after(module, [M.begin])
const two = after(module, [M.begin, M['begin (for another project)'], M.project_ended])
const ended = after(module, [M.begin, M.complete])

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), running, 'running (two)': two, ended }, M), 'maintenance run')
  t.end()
})

t.test('every state can be reached, and only completed is final', (t) => {
  const paths = getShortestPaths(module.machine, { events: Object.values(M) as never })
  t.strictSame([...new Set(paths.map(({ state }) => String(state.value)))].sort(), ['absent', 'ended', 'running'])
  for (const { state } of paths) {
    const leaves = Object.values(M).some((m) => step(module, state as never, m).snapshot.value !== state.value)
    t.equal(leaves, state.value !== 'ended', String(state.value))
  }
  t.end()
})

t.test('an interrupted run is completed once with what is known of its projects, and starts nothing', (t) => {
  const { facts, sends, snapshot } = step(module, reopened(module, two), M.interrupt)
  t.strictSame(
    facts.map((fact) => (fact as OwnFact).payload),
    [
      {
        total: 2,
        succeeded: 1,
        failed: 0,
        skipped: 0,
        projects: [
          { name: 'shop', status: 'succeeded', duration_secs: 9 },
          { name: 'till', status: 'interrupted', duration_secs: 0 },
        ],
      },
    ],
  )
  t.strictSame(sends, [])
  t.match(module.envelope(snapshot.context), { project: 'shop', trace_id: TRACE, causation_id: /^evt_/ })
  const simulated = said('maintenance_run_started', 'shop', { project: 'shop' }, 0, { throttle: 'dry_run' })!.message
  t.equal(
    module.envelope(after(module, [at(1, simulated)]).context).throttle,
    'dry_run',
    'the throttle of its beginning',
  )
  t.equal(step(module, snapshot, M.interrupt).repeat, 'already_ended')
  t.end()
})

t.test('a project ends with its first failing step, or with its last step', (t) => {
  const status = (type: string, payload: object) => (said(type, 'shop', payload)?.message as any)?.status
  t.equal(status('project_validation_completed', { status: 'ok' }), undefined)
  t.equal(status('project_validation_completed', { status: 'error' }), 'failed')
  t.equal(status('project_validation_completed', { status: 'skipped' }), 'skipped')
  t.equal(status('project_iteration_completed', { success: true }), undefined)
  t.equal(status('project_iteration_completed', { success: false }), 'failed')
  t.equal(status('project_maintenance_completed', { success: true }), 'succeeded')
  t.equal(said('maintenance_run_started', 'shop', { project: 'shop' }, 0, { trace_id: null }), undefined)
  t.end()
})

t.test('a project’s end is matched to the project that its beginning named', (t) => {
  const begun = at(1, said('maintenance_run_started', 'shop', { project: 'till' })!.message)
  const over = (project: string, payload: object) =>
    at(2, said('project_maintenance_completed', project, { success: true, ...payload }, 5)!.message)
  const parts = (message: object) =>
    (step(module, after(module, [begun]), message as never).snapshot.context as any).projects
  t.match(parts(over('shop', { project: 'till' })), [{ name: 'till', status: 'succeeded', duration_secs: 5 }])
  t.match(
    parts(over('till', {})),
    [{ name: 'till', status: 'succeeded' }],
    'an event that names none is about its own project',
  )
  t.notOk(parts(over('till', { project: 'shop' }))[0].status, 'of another project')
  t.end()
})

t.test('no walk completes a run twice', (t) => {
  const words = Object.keys(M) as (keyof typeof M)[]
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...words), { maxLength: 15 }), (walk) => {
      let snapshot = absent(module)
      let told = 0
      for (const word of walk) {
        const { snapshot: next, facts } = step(module, snapshot, M[word])
        told += facts.length
        if (snapshot.value === 'ended') assert.equal(next, snapshot)
        if (facts.length > 0) assert.equal(word, 'interrupt')
        snapshot = next
      }
      assert.ok(told <= 1)
    }),
    { numRuns: 300 },
  )
  t.end()
})
