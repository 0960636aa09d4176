/** Cases that the checker once took for a broken promise by mistake, one test each. */
import t from 'tap'
import { commandsRunOnce } from './invariants/commands-run-once.ts'
import { thingsHappenInTime } from './invariants/things-happen-in-time.ts'
import type { LoggedEvent } from './model/mirror.ts'
import { Requests } from './model/requests.ts'
import type { World } from './world.ts'

const START_MS = Date.UTC(2026, 0, 1)
const GRACE_MS = 60_000

t.test('the grace of a stop counts from the stop, and again in full from a start of the service', async (t) => {
  const requests = new Requests(() => false)
  const state = { nowMs: 0 }
  const world = {
    requests,
    snapshots: new Map(),
    timeline: state,
    clock: { offsetMs: START_MS },
    settings: { offerMs: 1_000, leaseMs: 600_000, graceMs: GRACE_MS },
    fate: { wasClockSet: false, clockSetMs: Number.NEGATIVE_INFINITY },
    quietSinceMs: 0,
  }
  moves(requests, START_MS, 1_000)
  const { looks } = thingsHappenInTime(world as unknown as World)
  state.nowMs = 1_000 + GRACE_MS + 1_900
  t.doesNotThrow(() => looks!(), 'a moment after its end')
  state.nowMs = 1_000 + GRACE_MS + 2_000
  t.throws(() => looks!(), /the end of its grace was due 2000 ms ago/)
  world.quietSinceMs = 11_000
  t.doesNotThrow(() => looks!())
  state.nowMs = 11_000 + GRACE_MS + 2_000
  t.throws(() => looks!(), /the end of its grace was due 2000 ms ago/)
})

t.test(
  'a command may make only one run request, except through an initiative’s item, which may be handed out again',
  async (t) => {
    const make = (command: string) => {
      const { event } = commandsRunOnce({} as World)
      const stated = { type: command, id: 'e', causationId: null, payload: {} }
      const created = { type: 'run_request_created', causationId: 'e', payload: { run_request_id: 'r' } }
      for (const one of [stated, created, created]) event!(one as unknown as LoggedEvent, undefined)
    }
    t.throws(() => make('greet_requested'), /e made r before/)
    t.doesNotThrow(() => make('initiative_advance_requested'))
  },
)

/** A run that is asked to stop. */
function moves(requests: Requests, recordedMs: number, atMs: number): void {
  const told = { run_request_id: 'r', attempt: 1, runner_id: 'a' }
  const states = { created: 'queued', offered: 'offered', accepted: 'accepted', cancel_requested: 'cancelling' }
  for (const [move, state] of Object.entries(states)) {
    requests.take({
      type: `run_request_${move}`,
      recordedAt: new Date(recordedMs).toISOString(),
      atMs,
      payload: { ...told, state },
    } as unknown as LoggedEvent)
  }
}
