/**
 * No agent session stays open for ever: those that no run reported are ended at every start (SPEC 6.17), those of a run
 * end with it; the service states each end once; and the sums count each ended session once.
 */
import type { AgentSessionContext } from '../../../machines/agent-session/context.ts'
import type { RunRequestContext } from '../../../machines/run-request/context.ts'
import type { SnapshotOf } from '../../../runtime/api.ts'
import { usageOf } from '../../../runtime/entities/usage.ts'
import { clockRecheckMs } from '../../../runtime/limits.ts'
import type { RequestModel } from '../model/requests.ts'
import type { Process } from '../process.ts'
import { Violation } from '../violation.ts'
import type { World } from '../world.ts'
import type { MakeInvariant } from './invariant.ts'

const NAME = 'agent sessions end'
const AT_WORK = new Set(['accepted', 'started', 'cancelling'])
/** A look is at most this late: what is found lies in the mailboxes until then. */
const SLACK_MS = 5_000
/** From when a run is lost until what it ran is over: turns, and a second more where a mailbox was full. */
const LOST_SLACK_MS = 3_000

type Session = SnapshotOf<AgentSessionContext>

export const agentSessionsEnd: MakeInvariant = (world) => {
  /** Sessions whose end the service has stated, with the event that each began with. */
  const stated = new Set<string>()
  /** Those of no run that were open when the service began to serve. */
  let outlived: ReadonlySet<string> = new Set()
  /** When each began, virtual. */
  const begunMs = new Map<string, number>()

  /** A run that is lost is known to be: what it ran inside it is over at once. */
  const haveEndedWith = (request: RequestModel, process: Process): void => {
    for (const { context } of openOf(process)) {
      const { session_id, run_request_id, attempt } = context
      if (run_request_id !== request.id || attempt !== request.attempt) continue
      if (world.timeline.nowMs - begunMs.get(session_id)! < LOST_SLACK_MS) continue
      throw new Violation(NAME, `${session_id} of attempt ${attempt} runs, and ${request.id} is lost`)
    }
  }

  return {
    name: NAME,
    event({ type, payload, causationId, text, atMs }) {
      if (type === 'agent_session_started') begunMs.set(payload.session_id, atMs)
      if (type !== 'agent_session_ended' || payload.status !== 'interrupted') return
      // One that retention has forgotten may begin anew.
      const beginning = `${payload.session_id} ${causationId}`
      if (stated.has(beginning)) throw new Violation(NAME, `its end is stated twice: ${text}`)
      stated.add(beginning)
    },
    serves(process) {
      outlived = new Set(openHere(process))
      // A service that takes no writes takes no work: it ends them when it writes again.
      if (process.journal!.refuses() === undefined) areOver(outlived, process)
    },
    looks() {
      const { nowMs } = world.timeline
      if (begunMs.size === 0 || nowMs - world.quietSinceMs < LOST_SLACK_MS) return
      for (const request of world.requests.byId.values()) {
        if (request.state === 'lost' && nowMs - request.sinceMs >= LOST_SLACK_MS) haveEndedWith(request, world.process!)
      }
    },
    // One that started without taking writes ends them when it takes writes again, a second later at the latest.
    owed() {
      return begunMs.size === 0 ? undefined : outlivedIn(outlived, world.process!)
    },
    async finally(process) {
      await process.journal!.settled()
      areOver(outlived, process)
      // What is due while the service takes no writes is done when it takes them again.
      if (process.journal!.refuses() === undefined)
        for (const session of openOf(process)) mayBeOpen(world, process, session)
      if (!world.plan.isRetaining) for (const { key } of world.made.projects) areCountedOnce(process, key)
    },
  }
}

function openOf({ runtime }: Process): Session[] {
  return [...runtime.scan('agent_session', 'state', 'started')]
    .map(({ ref }) => runtime.read(ref) as Session | undefined)
    .filter((session) => session?.value === 'started') as Session[]
}

/** Those that no run reported, each with the event that it began with: one that was forgotten may begin anew under its id. */
function openHere(process: Process): string[] {
  const sessions = openOf(process).filter(({ context }) => context.run_request_id === undefined)
  return sessions.map(({ context }) => `${context.session_id} of ${context.begin_event?.id}`)
}

function outlivedIn(outlived: ReadonlySet<string>, process: Process): string | undefined {
  const open = openHere(process).filter((id) => outlived.has(id))
  return open.length > 0 ? `${open} outlived the service that it ran in` : undefined
}

function areOver(outlived: ReadonlySet<string>, process: Process): void {
  const detail = outlivedIn(outlived, process)
  if (detail !== undefined) throw new Violation(NAME, detail)
}

function mayBeOpen(world: World, { runtime }: Process, { context }: Session): void {
  const { session_id, run_request_id: id, attempt } = context
  if (id === undefined) return
  const run = runtime.read({ kind: 'run_request', id }) as SnapshotOf<RunRequestContext> | undefined
  const is = run === undefined ? 'gone' : `${run.value} at attempt ${run.context.attempt}`
  if (run !== undefined && run.context.attempt === attempt) {
    if (AT_WORK.has(run.value)) return
    const { times, made, internal } = run.context
    const endMs = Date.parse(times.completed_at ?? times.failed_at ?? times.cancelled_at ?? '')
    // The service looks at a clock that was set once a minute at the latest.
    const isSeen = world.timeline.nowMs - world.fate.clockSetMs > clockRecheckMs + SLACK_MS
    const isTaken = !isSeen || endMs + made.limits.late_events_ms + SLACK_MS > world.wallMs
    if (internal.last_post?.attempt === attempt && isTaken) return
  }
  throw new Violation(NAME, `${session_id} of attempt ${attempt} runs, and ${id} is ${is}`)
}

function areCountedOnce({ runtime }: Process, project: string): void {
  const all = [...runtime.scan('agent_session', 'project', project)].map(({ snapshot }) => snapshot as Session)
  const ended = all.filter(({ value }) => value === 'ended')
  const measured = ended.filter(({ context }) => context.end!.measured.tokens !== undefined)
  const sums = usageOf(runtime, 'project', project)
  const is = `${sums?.sessions ?? 0} sessions, ${sums?.measured ?? 0} measured`
  const due = `${ended.length} sessions, ${measured.length} measured`
  if (is !== due) throw new Violation(NAME, `the sums of ${project} know of ${is}; there are ${due}`)
}
