/**
 * Run requests as the log describes them: one fold of events, written from the contract and not from the machine. An
 * event that no legal move makes is a violation.
 */
import { Violation } from '../violation.ts'
import type { LoggedEvent } from './mirror.ts'

export type RequestState =
  | 'queued'
  | 'offered'
  | 'accepted'
  | 'started'
  | 'cancelling'
  | 'lost'
  | 'completed'
  | 'failed'
  | 'cancelled'

export interface RequestModel {
  readonly id: string
  readonly project: string
  readonly throttle: string
  readonly access: string
  readonly lane: string
  readonly labels: readonly string[]
  readonly priority: number
  readonly pin: string | undefined
  readonly created: LoggedEvent
  state: RequestState
  attempt: number
  /** The runner that holds or last held the present attempt. */
  runner: string | undefined
  approved: boolean
  engineRun: string | undefined
  /** Sequence, state and attempt at each move, oldest first. */
  readonly moves: { readonly sequence: number; readonly state: RequestState; readonly attempt: number }[]
  /** When it entered its state, virtual. */
  sinceMs: number
  /** When a runner last took it up (accepted, started or came back to it), virtual. */
  takenUpMs: number
  /** By the computer's clock, as the service recorded them. */
  startedWallMs: number | undefined
  settledWallMs: number | undefined
}

export const SETTLED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])
export const HELD: ReadonlySet<string> = new Set(['offered', 'accepted', 'started', 'cancelling'])
/** What a runner's `completed` or `failed` may do to the attempt. */
export const END_EVENTS: ReadonlySet<string> = new Set([
  'run_request_completed',
  'run_request_failed',
  'run_request_cancelled',
  'run_request_requeued',
])

/** From which states an event may be stated, and the state that follows. */
const MOVES: Readonly<
  Record<string, { readonly from: readonly RequestState[]; readonly to: RequestState | undefined }>
> = {
  run_request_approved: { from: ['queued'], to: undefined },
  run_request_offered: { from: ['queued'], to: 'offered' },
  run_request_accepted: { from: ['offered'], to: 'accepted' },
  run_request_started: { from: ['accepted', 'lost'], to: 'started' },
  run_request_completed: { from: ['started', 'cancelling', 'lost'], to: 'completed' },
  run_request_failed: { from: ['offered', 'accepted', 'started', 'cancelling', 'lost'], to: 'failed' },
  run_request_cancel_requested: { from: ['accepted', 'started', 'cancelling'], to: 'cancelling' },
  run_request_cancelled: { from: ['queued', 'offered', 'cancelling', 'lost'], to: 'cancelled' },
  run_request_lost: { from: ['started'], to: 'lost' },
  run_request_requeued: { from: ['queued', 'offered', 'accepted', 'started', 'cancelling', 'lost'], to: 'queued' },
  run_request_released: { from: ['offered', 'accepted'], to: 'queued' },
}

const INVARIANT = 'legal moves'

export class Requests {
  readonly byId = new Map<string, RequestModel>()
  private readonly isForgettable: (request: RequestModel) => boolean

  /** `isForgettable`: retention may have forgotten the request, so that another may take its id. */
  constructor(isForgettable: (request: RequestModel) => boolean) {
    this.isForgettable = isForgettable
  }

  /** Folds the event in. Returns its request. Throws Violation. */
  take(event: LoggedEvent): RequestModel | undefined {
    if (!event.type.startsWith('run_request_')) return undefined
    const { payload } = event
    if (event.type === 'run_request_created') return this.create(event)
    const request = this.byId.get(payload.run_request_id)
    if (request === undefined) throw wrong(event, 'of a request that was never created')
    const move = MOVES[event.type]
    if (move === undefined) throw wrong(event, 'is no event of a run request')
    if (!move.from.includes(request.state)) throw wrong(event, `of a request that is ${request.state}`)
    checkAttempt(request, event)
    this.carryOut(request, event, move.to)
    if (payload.state !== request.state) throw wrong(event, `states ${payload.state}, and it is ${request.state}`)
    return request
  }

  /** The request as it was when the log ended with that sequence; undefined: not there yet. */
  static at(
    request: RequestModel,
    sequence: number,
  ): { readonly state: RequestState; readonly attempt: number } | undefined {
    return request.moves.findLast((move) => move.sequence <= sequence)
  }

  private create(event: LoggedEvent): RequestModel {
    const { payload, sequence } = event
    const id = payload.run_request_id as string
    const known = this.byId.get(id)
    if (known !== undefined && !this.isForgettable(known)) throw wrong(event, 'of a request that was created before')
    const request: RequestModel = {
      id,
      project: event.project,
      throttle: event.throttle,
      access: payload.access,
      lane: payload.lane,
      labels: payload.labels,
      priority: payload.priority,
      pin: payload.runner_id,
      created: event,
      state: 'queued',
      attempt: 1,
      runner: undefined,
      approved: event.throttle === 'dry_run',
      engineRun: undefined,
      moves: [{ sequence, state: 'queued', attempt: 1 }],
      sinceMs: event.atMs,
      takenUpMs: event.atMs,
      startedWallMs: undefined,
      settledWallMs: undefined,
    }
    this.byId.set(id, request)
    return request
  }

  private carryOut(request: RequestModel, event: LoggedEvent, to: RequestState | undefined): void {
    const { type, payload, sequence, atMs } = event
    if (type === 'run_request_approved') request.approved = true
    if (type === 'run_request_offered') request.runner = payload.runner_id
    if (payload.engine_run_id !== undefined) request.engineRun = payload.engine_run_id
    if (to === undefined) return
    if (to === 'queued') {
      request.runner = undefined
      request.engineRun = undefined
      request.attempt += 1
      request.startedWallMs = undefined
    }
    if (to === 'started') request.startedWallMs ??= Date.parse(event.recordedAt)
    if (SETTLED.has(to)) request.settledWallMs = Date.parse(event.recordedAt)
    if (to !== request.state) request.sinceMs = atMs
    if (to === 'accepted' || to === 'started') request.takenUpMs = atMs
    request.state = to
    request.moves.push({ sequence, state: to, attempt: request.attempt })
  }
}

/** An event that ends an attempt names the next one, any other the present one. */
function checkAttempt(request: RequestModel, event: LoggedEvent): void {
  const { attempt, runner_id: runner } = event.payload
  const ends = event.type === 'run_request_requeued' || event.type === 'run_request_released'
  const expected = ends ? request.attempt + 1 : request.attempt
  if (attempt !== expected) throw wrong(event, `tells attempt ${attempt}, and it must be ${expected}`)
  if (runner !== undefined && event.type !== 'run_request_offered' && runner !== request.runner) {
    throw new Violation('an attempt has one owner', `${event.text}: the attempt is held by ${request.runner}`)
  }
}

function wrong(event: LoggedEvent, why: string): Violation {
  return new Violation(INVARIANT, `${event.type} (event ${event.sequence}) ${why}: ${event.text}`)
}
