/** Programming errors at a manifest, injected here because there should be none. */
import t from 'tap'
import type { CommitListener, Runtime } from '../../../runtime/api.ts'
import { Capabilities } from '../../../runtime/entities/capabilities.ts'
import { setAsideRetryMs } from '../../../runtime/limits.ts'
import { silentLogger } from '../../../runtime/log.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

const manifest = (runner_id: string, more: object = {}) => ({
  value: 'current',
  context: {
    project: 'shop',
    manifest: { runner_id, engine: 'e', supported_entry_events: ['a'], supported_throttle_modes: ['full'], ...more },
  },
})
const senseless = manifest('r1', { supported_throttle_modes: undefined })

function world(records: Record<string, object>, runners: readonly string[] = []) {
  const platform = new ManualPlatform()
  const told: any[] = []
  const listeners: CommitListener[] = []
  const runtime = {
    platform,
    *scan() {
      for (const [id, snapshot] of Object.entries(records)) yield { ref: { kind: 'engine_capability', id }, snapshot }
    },
    read: ({ kind, id }: { kind: string; id: string }) => (kind === 'runner' ? undefined : records[id]),
    onCommit: (listener: CommitListener) => listeners.push(listener),
  } as unknown as Runtime
  let capable: any
  const log = { ...silentLogger, error: (fields: object, said: string) => told.push({ ...fields, said }) }
  const setCapable = (given: unknown) => {
    capable = given
  }
  const hasRunnerFor = (_: string, isMeant: (id: string) => boolean) => runners.some(isMeant)
  const capabilities = new Capabilities(runtime, { setCapable, hasRunnerFor }, log)
  t.teardown(() => capabilities.close())
  return {
    platform,
    told,
    capabilities,
    isCapable: (runnerId: string, entryEvent = 'a') =>
      capable === undefined || capable(runnerId, { project: 'shop', entryEvent, throttle: 'full' }),
    commit(changed: Record<string, object>) {
      Object.assign(records, changed)
      const refOf = (id: string) => ({ kind: 'engine_capability', id })
      const steps = Object.entries(changed).map(([id, after]) => ({ ref: refOf(id), after }))
      for (const listener of listeners) listener(steps as never, [], {} as never)
    },
  }
}

const asked = { project: 'shop', entryEvent: 'a', throttle: 'full' } as const

t.test(
  'an unusable manifest does not count at start, and neither the service nor other manifests are affected',
  (t) => {
    const w = world({ m1: senseless, m2: manifest('r2') })
    t.match(w.told, [{ by: 'capabilities', kind: 'engine_capability', id: 'm1', failures: 1 }])
    t.ok(w.isCapable('r1'), 'it does not count')
    t.same([w.isCapable('r2'), w.isCapable('r2', 'b')], [true, false])
    t.equal(w.capabilities.incapable(asked), undefined)
    t.equal(w.capabilities.health.passedOverCount, 1)
    t.end()
  },
)

t.test('an unusable manifest in a commit does not count until it can be read', (t) => {
  const w = world({})
  w.commit({ m1: senseless, m2: manifest('r2', { supported_entry_events: ['b'] }) })
  t.match(w.told, [{ id: 'm1' }])
  t.notOk(w.isCapable('r2'))
  t.match(w.capabilities.incapable(asked), /No manifest of the project supports/)
  w.commit({ m1: manifest('r1') })
  w.platform.advance(setAsideRetryMs)
  t.equal(w.capabilities.incapable(asked), undefined)
  t.equal(w.capabilities.health.passedOverCount, 0)
  t.end()
})

t.test('a runner’s manifest restricts that runner only', (t) => {
  const narrow = manifest('r1', { supported_entry_events: ['b'] })
  const w = world({ m1: narrow }, ['r1', 'r2'])
  t.equal(w.capabilities.incapable(asked), undefined, 'r2 has no manifest')
  t.equal(w.capabilities.incapable({ ...asked, runnerId: 'r2' }), undefined)
  t.match(w.capabilities.incapable({ ...asked, runnerId: 'r1' }), /runner r1 does not support a/)
  t.same([w.isCapable('r1'), w.isCapable('r2')], [false, true], 'as the dispatcher sees it')
  w.commit({ m2: manifest('r2', { supported_entry_events: ['b'] }) })
  t.match(w.capabilities.incapable(asked), /No manifest of the project supports a/, 'now each has one')
  const { value, context } = narrow
  const ofNone = { value, context: { ...context, manifest: { ...context.manifest, runner_id: undefined } } }
  const kept = world({ m1: ofNone }, ['r1', 'r2'])
  t.match(
    kept.capabilities.incapable(asked),
    /No manifest of the project supports a/,
    'a manifest without a runner speaks for all that have none',
  )
  t.match(kept.capabilities.incapable({ ...asked, runnerId: 'r2' }), /No manifest/)
  t.end()
})

t.test('a removed manifest no longer counts, for requests and for the dispatcher', (t) => {
  const narrow = manifest('r1', { supported_entry_events: ['b'] })
  const w = world({ m1: narrow }, ['r1'])
  t.match([w.capabilities.incapable(asked), w.isCapable('r1')], [/No manifest/, false])
  w.commit({ m1: { ...narrow, value: 'removed' } })
  t.same([w.capabilities.incapable(asked), w.isCapable('r1')], [undefined, true])
  w.commit({ m1: narrow })
  t.notOk(w.isCapable('r1'), 'until it is posted again')
  t.end()
})
