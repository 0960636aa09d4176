import t from 'tap'
import { engineCapabilityDocument } from '../../machines/documents/engine-capability.ts'
import { engineCapabilityModule as module } from '../../machines/engine-capability.ts'
import { compile } from '../../machines/schema.ts'
import { BY } from './run-request-samples.ts'
import { absent, after, at, reopened, snapshotFile, step, table } from './step.ts'

t.snapshotFile = snapshotFile('engine-capability')

const manifest = {
  engine: 'factory',
  engine_version: '1.0',
  supported_entry_events: ['execution_requested'],
  supported_throttle_modes: ['dry_run'],
}
const RECORD = {
  type: 'record',
  by: BY,
  id: `cap_${'a'.repeat(24)}`,
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  manifest,
  digest: 'digest-1',
  fingerprint: 'digest-1',
  idempotency_key: 'key-1',
}
const other = { manifest: { ...manifest, engine_version: '2.0' }, digest: 'digest-2', fingerprint: 'digest-2' }
const M = {
  record: at(0, RECORD),
  'record (same manifest, other key)': at(1, { ...RECORD, idempotency_key: 'key-2' }),
  'record (other manifest, same key)': at(1, { ...RECORD, ...other }),
  'record (other manifest, other key)': at(1, { ...RECORD, ...other, idempotency_key: 'key-2' }),
  'record (other manifest, no key)': at(1, { ...RECORD, ...other, idempotency_key: undefined }),
  remove: at(2, { type: 'remove', by: BY }),
}
const recorded = after(module, [M.record])
const removed = after(module, [M.record, M.remove])

t.test('every message in every state has the outcome that the table shows', (t) => {
  t.matchSnapshot(table(module, { absent: absent(module), recorded, removed }, M), 'engine capability')
  t.end()
})

t.test('a newer manifest replaces the older one, and the document is what was posted', (t) => {
  const next = step(module, recorded, M['record (other manifest, no key)'])
  t.match(next.facts, [{ type: 'engine_capabilities_recorded', payload: { engine_version: '2.0', version: 2 } }])
  const shown = { ...module.document(reopened(module, next.snapshot)), state: 'current' }
  t.strictSame(compile(engineCapabilityDocument)(shown), [])
  t.match(shown, { ...other.manifest, version: 2, recorded_by: BY })
  t.end()
})

t.test('a removed manifest is in no list, says that it is removed, and may be posted again', (t) => {
  const { facts } = step(module, recorded, M.remove)
  t.match(facts, [{ type: 'engine_capabilities_removed', payload: { engine: 'factory', version: 1 } }])
  t.strictSame(module.terms(removed), [])
  const again = step(module, removed, M['record (same manifest, other key)'])
  t.match(again.facts, [{ type: 'engine_capabilities_recorded', payload: { version: 2 } }])
  t.equal(again.snapshot.value, 'recorded')
  t.end()
})
