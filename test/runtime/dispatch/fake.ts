/**
 * A world for the dispatcher, moved by the test: a clock, turns of the event loop, and actors. Run requests are stepped
 * by their real machine; runners are set as given. Steps of one turn are committed together, and listeners hear of them
 * before the senders, as in the real runtime.
 */
import type { ActorRef, MessageBody, SnapshotOf } from '../../../machines/machine.ts'
import type { RunRequestContext } from '../../../machines/run-request/context.ts'
import { runRequestModule } from '../../../machines/run-request.ts'
import type { Answer, CommitListener, CommittedStep, Reply, Runtime } from '../../../runtime/api.ts'
import type { Dispatcher, PollAnswer, PollHandle, PollRefusal } from '../../../runtime/dispatch/dispatcher.ts'
import { defaultSettings } from '../../../runtime/settings.ts'
import { Stepper } from '../../../runtime/stepper.ts'
import type { IndexRow } from '../../../storage/journal.ts'
import { ManualPlatform } from '../../platforms/manual.ts'

interface Mail {
  readonly ref: ActorRef
  readonly message: MessageBody
  readonly reply: Reply | undefined
}

export interface RunnerGiven {
  readonly allowed_projects?: readonly string[]
  readonly labels?: readonly string[]
  readonly capacity?: number
  readonly trusted?: boolean
  readonly state?: 'registered' | 'draining' | 'removed'
  readonly online?: boolean
  readonly session?: { readonly instance: string; readonly version: string; readonly started_at: string }
}

export interface RequestGiven {
  readonly project?: string
  readonly throttle?: 'full' | 'dry_run'
  readonly access?: 'full' | 'read_only'
  readonly approved?: boolean
  readonly repository?: string | null
  readonly lane?: 'interactive' | 'campaign' | 'maintenance'
  readonly labels?: readonly string[]
  readonly told_of?: readonly string[]
  readonly runner_id?: string
  readonly priority?: number
  readonly not_before?: string
  readonly entry_event?: string
}

const stepper = new Stepper(runRequestModule)

export function requestId(n: number): string {
  return `runreq_${n.toString(16).padStart(24, '0')}`
}

export function projectId(key: string): string {
  return `proj_${Buffer.from(key).toString('hex').padEnd(24, '0').slice(0, 24)}`
}

export class FakeRuntime {
  readonly platform = new ManualPlatform(Date.UTC(2026, 0, 1, 0, 0, 1))
  readonly settings = { ...defaultSettings, home: '/nowhere' }
  /** Why the journal refuses writes. */
  refusing: string | undefined
  /** What an actor answers instead of stepping, by request id. */
  readonly refusals = new Map<string, Answer>()
  /** Every message asked for, as `type id`. */
  readonly asked: string[] = []
  private readonly snapshots = new Map<string, SnapshotOf<any>>()
  private readonly listeners: CommitListener[] = []
  private mail: Mail[] = []
  private micros = 0
  private requests = 0
  private amend: Parameters<Runtime['beforeDue']>[0] | undefined

  readonly journal = {
    refuses: () => this.refusing,
    scanIndex: (kind: string, index: string): IndexRow[] => this.rowsOf(kind, index),
    count: (_kind: string, _index: string, state: string): number =>
      this.everyRequest().filter(({ value }) => value === state).length,
  }

  /** The runtime as the dispatcher sees it. */
  get runtime(): Runtime {
    return this as unknown as Runtime
  }

  /** Starts with what another world had committed. */
  adopt(other: FakeRuntime): void {
    for (const [key, snapshot] of other.snapshots) this.snapshots.set(key, snapshot)
    this.requests = other.requests
    this.micros = other.micros
  }

  ask(ref: ActorRef, message: MessageBody, reply: Reply): void {
    this.asked.push(`${message.type} ${ref.id}`)
    this.post({ ref, message, reply })
  }

  /** A message from another part of the service. */
  tell(ref: ActorRef, message: MessageBody & Record<string, unknown>): void {
    this.post({ ref, message, reply: undefined })
  }

  read(ref: ActorRef): SnapshotOf<any> | undefined {
    return this.snapshots.get(`${ref.kind} ${ref.id}`)
  }

  isBusy({ kind, id }: ActorRef): boolean {
    return this.mail.some(({ ref }) => ref.kind === kind && ref.id === id)
  }

  deadlineMs(): number {
    return this.platform.wallMs() + 30_000
  }

  onCommit(listener: CommitListener): void {
    this.listeners.push(listener)
  }

  /** Keeps the amendment that `offerCounted` applies, as the runtime does to a deadline that falls due. */
  beforeDue(amend: Parameters<Runtime['beforeDue']>[0]): void {
    this.amend = amend
  }

  offerCounted(id: string): unknown {
    return (this.amend!({ kind: 'run_request', id }, { type: 'offer_expired' }) as { counted?: boolean }).counted
  }

  state(id: string): string {
    return this.request(id).value
  }

  request(id: string): SnapshotOf<RunRequestContext> {
    return this.read({ kind: 'run_request', id })!
  }

  everyRequest(): SnapshotOf<RunRequestContext>[] {
    return [...this.snapshots].filter(([key]) => key.startsWith('run_request ')).map(([, snapshot]) => snapshot)
  }

  /** Creates a run request with the next id in the next turn; returns the id. */
  create(given: RequestGiven = {}): string {
    const id = requestId(++this.requests)
    this.tell({ kind: 'run_request', id }, createMessage(id, given))
    return id
  }

  /** Sets a runner as it stands from the next turn on. */
  runner(id: string, given: RunnerGiven = {}): string {
    const { state = 'registered', online = false, ...terms } = given
    const context = {
      id,
      allowed_projects: ['*'],
      labels: [],
      capacity: 1,
      trusted: true,
      ...terms,
      internal: { online },
    }
    this.post({ ref: { kind: 'runner', id }, message: { type: 'stated', state, context } as never, reply: undefined })
    return id
  }

  /** Sets how many runs that the project starts may change its repository at once. */
  project(key: string, max_writers: number): void {
    const id = projectId(key)
    const message = { type: 'stated', state: 'active', context: { id, key, max_writers } } as never
    this.post({ ref: { kind: 'project', id }, message, reply: undefined })
  }

  /** Sends a message about a run request in the next turn. */
  send(id: string, type: string, fields: object = {}): void {
    this.tell({ kind: 'run_request', id }, { type, ...fields })
  }

  /** A post of the runner that holds the request, for its present attempt. */
  report(id: string, type: string, fields: object = {}): void {
    const { offered_to, attempt } = this.request(id).context
    this.send(id, type, {
      runner_id: offered_to,
      attempt,
      digest: 'd',
      result: {},
      class: 'execution',
      message: 'm',
      ...fields,
    })
  }

  run(): void {
    this.platform.run()
  }

  private post(mail: Mail): void {
    this.mail.push(mail)
    if (this.mail.length === 1) this.platform.nextTurn(() => this.turn())
  }

  private turn(): void {
    const mail = this.mail
    this.mail = []
    const steps: CommittedStep[] = []
    const answers: [Reply, Answer][] = []
    for (const one of mail) {
      const answer = this.step(one, steps)
      if (one.reply !== undefined) answers.push([one.reply, answer])
    }
    if (steps.length > 0)
      for (const listener of this.listeners) listener(steps, [], { batch: 1, firstSequence: 1, lastSequence: 1 })
    for (const [reply, answer] of answers) reply(answer)
  }

  private step({ ref, message }: Mail, steps: CommittedStep[]): Answer {
    const refused = this.refusals.get(ref.id)
    if (refused !== undefined) return refused
    const key = `${ref.kind} ${ref.id}`
    const before = this.snapshots.get(key)
    const after = ref.kind === 'run_request' ? this.stepRequest(before, message) : this.stepStated(before, message)
    if (after === before) return { ok: false, refusal: { code: 'illegal_move', detail: 'not in this state' } }
    this.snapshots.set(key, after!)
    steps.push({ ref, before, after: after!, version: 1 })
    return { ok: true, snapshot: after!, version: 1, sequence: 1, accepted: 0, duplicates: 0 }
  }

  /** A runner or a project. */
  private stepStated(before: SnapshotOf<any> | undefined, message: any): SnapshotOf<any> | undefined {
    if (message.type === 'stated') return { value: message.state, context: message.context } as SnapshotOf<any>
    const online = message.type === 'came_online'
    const seen_at = online ? new Date(this.platform.wallMs()).toISOString() : message.seen_at
    const context = { ...before!.context, internal: { ...before!.context.internal, online, seen_at } }
    return { value: before!.value, context } as SnapshotOf<any>
  }

  private stepRequest(before: SnapshotOf<any> | undefined, message: MessageBody): SnapshotOf<any> | undefined {
    const micros = String(++this.micros).padStart(6, '0')
    const atMs = Math.floor(this.platform.wallMs())
    const at = `${new Date(atMs).toISOString().slice(0, 20)}${micros}Z`
    return stepper.step(before ?? stepper.initial, { ...message, at, atMs }, []) ?? before
  }

  /** As the view would list them: by value, then order, then id. */
  private rowsOf(kind: string, index: string): IndexRow[] {
    if (kind !== 'run_request') return []
    const rows = this.everyRequest().flatMap((snapshot) => {
      const terms = runRequestModule.terms(snapshot).filter((term) => term.index === index)
      return terms.map(({ value, order }) => ({ value, order, id: snapshot.context.id }))
    })
    const name = ({ value, order, id }: IndexRow) => `${value} ${order} ${id}`
    return rows.sort((a, b) => (name(a) < name(b) ? -1 : 1))
  }

  *scan(kind: ActorRef['kind'], _index: string, value: string): ReturnType<Runtime['scan']> {
    for (const [key, snapshot] of this.snapshots) {
      if (!key.startsWith(`${kind} `) || (kind === 'run_request' && snapshot.value !== value)) continue
      yield { ref: { kind, id: snapshot.context.id }, snapshot }
    }
  }
}

export function createMessage(id: string, given: RequestGiven): MessageBody & Record<string, unknown> {
  const project = given.project ?? 'alpha'
  return {
    type: 'create',
    id,
    project,
    project_id: projectId(project),
    entry_event: 'execution_requested',
    idempotency_key: id,
    key_given: true,
    fingerprint: id,
    requested_by: { id: 'tok_1', name: 'test' },
    trace_id: 'a'.repeat(32),
    span_id: 'b'.repeat(16),
    repository: project,
    limits: { grace_ms: 60_000, late_events_ms: 600_000, idempotency_ms: 86_400_000 },
    ...given,
  }
}

/** A poll and its answers. */
export interface Asked {
  readonly runner: string
  answer: PollAnswer | PollRefusal | undefined
  answers: number
  handle: PollHandle
}

export function poll(dispatcher: Dispatcher, runner: string, waitMs = 60_000): Asked {
  const asked: Asked = { runner, answer: undefined, answers: 0, handle: { abort: () => {} } }
  asked.handle = dispatcher.poll(runner, waitMs, (answer) => {
    asked.answer = answer
    asked.answers++
  })
  return asked
}

/** The id of the run request that the poll was offered, if any. */
export function offered({ answer }: Asked): string | undefined {
  return typeof answer === 'object' ? answer.offer?.request_id : undefined
}
