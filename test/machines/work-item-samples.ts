/** Messages and snapshots of work items that the tests share. */
import type { Message, SnapshotOf } from '../../machines/machine.ts'
import type { CreateRunRequest } from '../../machines/run-request/context.ts'
import type { CreateWorkItem, WorkItemContext } from '../../machines/work-item/context.ts'
import { workItemModule } from '../../machines/work-item.ts'
import { BY, CREATE as CREATE_RUN } from './run-request-samples.ts'
import { after, at } from './step.ts'

export const ITEM = `wi_${'a'.repeat(24)}`
export const DEPENDENCY = `wi_${'d'.repeat(24)}`
export const CHILD = `wi_${'c'.repeat(24)}`
export const RUN = `runreq_${'e'.repeat(24)}`
const ORIGIN = 'ann-laptop: by hand'

export const CREATE: CreateWorkItem = {
  type: 'create',
  by: BY,
  id: ITEM,
  project: 'acme',
  project_id: `proj_${'b'.repeat(24)}`,
  objective: 'Tidy up',
  kind: 'task',
  lane: 'interactive',
  origin: ORIGIN,
  source: { kind: 'operator', ref: 'ann' },
  submitted_by: BY,
  depends_on: [DEPENDENCY],
  reason: 'next to start',
  trace_id: 'c'.repeat(32),
  span_id: 'd'.repeat(16),
}

export const CHILD_CREATE: CreateWorkItem = {
  ...CREATE,
  id: CHILD,
  source: { kind: 'work_item', ref: ITEM },
  resumes: ITEM,
  base_ref: 'task/tidy-up',
  trace_id: 'e'.repeat(32),
}

const RUN_REQUEST: CreateRunRequest = {
  ...CREATE_RUN,
  id: RUN,
  throttle: 'full',
  approved: true,
  work_item_id: ITEM,
  trace_id: CREATE.trace_id,
}

const ofRun = { run_request_id: RUN, attempt: 1 }
const owner = { by: { ...BY, origin: ORIGIN } }

/** The payload of a task's result. */
export function result(verdict: string, more: object = {}): object {
  return { project: 'acme', success: false, landed: false, summary: 'as told', verdict, ...more }
}

export function runEvent(seconds: number, payload: object, event_type = 'task_run_completed', more: object = {}) {
  const event = { id: 'evt_1', event_type, payload }
  return at(seconds, { type: 'run_event', ...ofRun, event, ...more }) as Message<any>
}

const ref = { preservation_ref: 'task/tidy-up' }

/** One message of each kind; the labels name what is special. */
export const MESSAGES = {
  create: at(0, CREATE),
  'create (no reason)': at(0, { ...CREATE, reason: undefined }),
  admit: at(1, { type: 'admit', reason: 'next to start' }),
  hand_out: at(2, { type: 'hand_out', run_request: RUN_REQUEST }),
  take_back: at(3, { type: 'take_back', reason: 'lane campaign is paused' }),
  block: at(2, { type: 'block', dependency: DEPENDENCY, reason: `its dependency ${DEPENDENCY} can never land` }),
  'block (not waited for)': at(2, { type: 'block', dependency: CHILD, reason: 'no matter' }),
  hold: at(3, { type: 'hold', ...owner }),
  release: at(4, { type: 'release', ...owner, reason: 'next to start', unlandable: [DEPENDENCY] }),
  close: at(20, { type: 'close', ...owner, reason: 'done by hand' }),
  cancel: at(20, { type: 'cancel', ...owner, reason: 'not needed' }),
  'cancel (discard)': at(21, { type: 'cancel', ...owner, reason: 'it leaks', discard_work: true }),
  resume: at(20, { type: 'resume', ...owner, child: CHILD_CREATE }),
  run_started: at(5, { type: 'run_started', ...ofRun, runner_id: 'runner-1' }),
  'run_started (another run)': at(5, { type: 'run_started', ...ofRun, run_request_id: 'runreq_x', runner_id: 'r' }),
  run_lost: at(6, { type: 'run_lost', ...ofRun, reason: 'its runner fell silent' }),
  run_requeued: at(7, { type: 'run_requeued', ...ofRun, attempt: 2, reason: 'requeued by ann' }),
  'run_event (complete)': runEvent(8, result('complete', { success: true, landed: true, preservation_ref: 'abc1234' })),
  'run_event (not landed)': runEvent(8, result('complete', { land_blocked: 'git_failed', ...ref })),
  'run_event (defect)': runEvent(8, result('defect', { diagnosis: 'it breaks', ...ref })),
  'run_event (decision)': runEvent(8, result('blocked_on_decision', { finding: 'which?', options: ['a', 'b'] })),
  'run_event (runner error)': runEvent(8, result('runner_error', { detail: 'out of memory' })),
  'run_event (of a release)': runEvent(
    8,
    { cve: 'x', release: 'patch', new_tag: null, success: true },
    'release_completed',
  ),
  'run_ended (completed)': at(9, { type: 'run_ended', ...ofRun, outcome: 'completed' }),
  'run_ended (failed)': at(9, {
    type: 'run_ended',
    ...ofRun,
    outcome: 'failed',
    failure: { class: 'execution', message: 'tests failed' },
  }),
  'run_ended (cancelled)': at(9, { type: 'run_ended', ...ofRun, outcome: 'cancelled' }),
  'run_ended (by a person)': at(9, {
    type: 'run_ended',
    ...ofRun,
    outcome: 'cancelled',
    stopped_by: BY,
    stop_reason: 'enough',
  }),
  'resumption_settled (landed)': at(30, {
    type: 'resumption_settled',
    item_id: CHILD,
    state: 'landed',
    landed_commit: 'def5678',
  }),
  'resumption_settled (failed)': at(30, { type: 'resumption_settled', item_id: CHILD, state: 'failed' }),
  superseded: at(30, { type: 'superseded', commit: 'fed9876' }),
  'settle (landed)': at(10, { type: 'settle', state: 'landed', reason: 'stood down' }),
  'settle (cancelled)': at(10, { type: 'settle', state: 'cancelled', reason: 'steering rejected: no' }),
  'settle (failed)': at(10, { type: 'settle', state: 'failed', reason: 'no decision' }),
} as const satisfies Record<string, Message<any>>

const M = MESSAGES
type Snapshots = Readonly<Record<string, SnapshotOf<WorkItemContext>>>

/** One snapshot of every state, and of variants that a state alone does not tell apart, reached by messages. */
export function states(variant: Partial<CreateWorkItem> = {}): Snapshots {
  const create = at(0, { ...CREATE, ...variant })
  const queued = [create]
  const handedOut = [...queued, M.hand_out]
  const running = [...handedOut, M.run_started]
  const preserved = [...running, M['run_event (not landed)']]
  const of = (...messages: readonly Message<any>[]) => after(workItemModule, messages)
  return {
    submitted: of(at(0, { ...CREATE, ...variant, reason: undefined })),
    queued: of(...queued),
    'queued, handed out': of(...handedOut),
    held: of(...queued, M.hold),
    'held, taken back': of(...handedOut, M.hold),
    'queued, taken back': of(...handedOut, M.hold, M.release),
    running: of(...running),
    'running, stopping': of(...running, M.cancel),
    landed: of(...running, M['run_event (complete)']),
    preserved: of(...preserved),
    'preserved, resumed': of(...preserved, M.resume),
    needs_decision: of(...running, M['run_event (decision)']),
    'needs_decision, never started': of(...queued, M.block),
    failed: of(...running, M['run_ended (failed)']),
    cancelled: of(...queued, M.cancel),
    'cancelled, taken back': of(...handedOut, M.cancel),
    'landed, taken back': of(...running, M['settle (landed)']),
  }
}
