/**
 * The people and machines around a service that dies: they remember what was acknowledged to them and nothing else, and
 * repeat everything until they get an answer, as a careful client does.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../random.ts'
import { type Ask, ask, follow, type Heard, Refused, WAITED_ANSWER_MS } from './client.ts'
import { formed } from './formation.ts'
import { type Memory, nowNs } from './memory.ts'

export interface Load {
  /** Where the service is, while it is there. */
  readonly url: () => string
  readonly token: string
  readonly project: string
  readonly memory: Memory
  /** Set when the watcher was away for longer than events are kept: it starts over at the oldest. */
  readonly mayFallBehind?: boolean
  /** Whether no new work is to begin. */
  readonly closing: () => boolean
  /** Whether everything is to be put down. */
  readonly stopping: () => boolean
}

const AGAIN_MS = 20
/** The same while nobody listens: dozens who ask all the time would take half of the machine from the start they wait for. */
const NOBODY_MS = 100

/** Repeats a request until the answer is not 5xx or 429. Undefined when the load is stopping. */
export async function insist(load: Load, what: Omit<Ask, 'url' | 'token'>, path: string, token = load.token) {
  for (;;) {
    let againMs = AGAIN_MS
    try {
      const heard = await ask({ ...what, url: load.url() + path, token })
      if (heard.cursor !== undefined) load.memory.reach(heard.cursor)
      if (heard.status < 500 && heard.status !== 429) return heard
    } catch (error) {
      // The service is gone or the connection broke: nobody knows whether the request was carried out, so it is
      // repeated.
      if (error instanceof SyntaxError) load.memory.faults.push(error.message)
      if ((error as NodeJS.ErrnoException).code === 'ECONNREFUSED') againMs = NOBODY_MS
    }
    if (load.stopping()) return undefined
    await sleep(againMs)
  }
}

export function fault(load: Load, what: string, { status, body }: Heard): void {
  load.memory.faults.push(`${what} was answered ${status} ${JSON.stringify(body)}`)
}

/** Creates run requests one after another, each under its own idempotency key. */
export async function requester(load: Load, name: string): Promise<void> {
  for (let number = 0; !load.closing(); number++) {
    const body = { entry_event: 'execution_requested', payload: { name, number }, idempotency_key: `${name}-${number}` }
    const heard = await insist(load, { method: 'POST', body }, `/api/projects/${load.project}/run-requests`)
    if (heard === undefined) return
    if (heard.status === 201 || heard.status === 200) {
      load.memory.created.set(heard.body.id, nowNs())
      load.memory.tell(`run_request_created ${heard.body.id}`)
    } else fault(load, 'a create', heard)
  }
}

/** Polls, accepts, starts, reports and completes; gives a request up only when told that it is stale. */
export async function runner(load: Load, id: string, token: string): Promise<void> {
  while (!load.stopping()) {
    const poll = await insist(load, { method: 'GET' }, `/api/runners/${id}/run-requests/next?wait=1`, token)
    if (poll === undefined) return
    if (poll.status === 200) await work(load, id, token, poll.body)
    else if (poll.status !== 204) fault(load, 'a poll', poll)
  }
}

async function work(load: Load, runnerId: string, token: string, request: any): Promise<void> {
  const { request_id: id, attempt } = request
  const said = async (step: string, body: object): Promise<boolean> => {
    const path = `/api/run-requests/${id}/${step}`
    const heard = await insist(load, { method: 'POST', body: { attempt, ...body } }, path, token)
    if (heard === undefined || heard.status === 409) return false
    if (heard.status !== 200) fault(load, `${step} of ${id}`, heard)
    return heard.status === 200
  }
  if (!(await said('accepted', {}))) return
  load.memory.tell(`run_request_accepted ${id}/${attempt}`)
  if (!(await said('started', {}))) return
  load.memory.begin(id, attempt, runnerId)
  const greeting = `${id}/${attempt}`
  const event = { event_type: 'greeting_composed', occurred_at: new Date().toISOString(), payload: { greeting } }
  if (!(await said('events', { events: [event] }))) return
  load.memory.tell(`greeting ${greeting}`)
  const { entry_event, payload } = request.engine
  if (payload.item_id !== undefined && !(await said('events', { events: [landed(load.project, payload)] }))) return
  const result = entry_event === 'campaign_advance_requested' ? formed(payload) : { status: 'completed' }
  if (!(await said('completed', { result }))) return
  load.memory.tell(`run_request_completed ${id}`)
}

/** The result of a task, which settles its work item. */
function landed(project: string, { campaign_cycle = 'done' }: { readonly campaign_cycle?: number | string }): object {
  const summary = String(campaign_cycle)
  const payload = { project, success: true, landed: true, summary, verdict: 'complete' }
  return { event_type: 'task_run_completed', occurred_at: new Date().toISOString(), payload }
}

/** Everything but runs: reads, emits, cancels, changes runners, issues and revokes tokens. */
export async function operator(load: Load, random: Random, runners: readonly string[]): Promise<void> {
  for (let number = 0; !load.closing(); number++) {
    const acts = [emit, cancel, changeRunner, tokens, look]
    await acts[random.below(acts.length)]!(load, random, runners, number)
    await sleep(5)
  }
}

async function emit(load: Load, _random: Random, _runners: readonly string[], number: number): Promise<void> {
  const greeting = `operator ${nowNs()} ${number}`
  const event = {
    event_type: 'greeting_composed',
    project: load.project,
    occurred_at: new Date().toISOString(),
    payload: { greeting },
  }
  const heard = await insist(load, { method: 'POST', body: { events: [event] } }, '/api/events')
  if (heard?.status === 200) for (const id of heard.body.events) load.memory.tell(id)
  else if (heard !== undefined) fault(load, 'an emit', heard)
}

async function cancel(load: Load, random: Random): Promise<void> {
  const made = [...load.memory.created.keys()]
  const id = made[made.length - 1 - random.below(Math.min(20, made.length))]
  if (id === undefined) return
  const heard = await insist(load, { method: 'POST', body: {} }, `/api/run-requests/${id}/cancel`)
  // 409: it has ended; 404: it was forgotten since.
  if (heard === undefined || heard.status === 409 || heard.status === 404) return
  if (heard.status !== 200) fault(load, `cancel of ${id}`, heard)
  else if (heard.body.state === 'cancelled') load.memory.tell(`run_request_cancelled ${id}`)
  else if (heard.body.state === 'cancelling') load.memory.tell(`run_request_cancel_requested ${id}`)
}

async function changeRunner(load: Load, random: Random, runners: readonly string[], number: number): Promise<void> {
  const id = runners[random.below(runners.length)]!
  const body = { labels: [`label-${number}`] }
  const heard = await insist(load, { method: 'PATCH', body }, `/api/runners/${id}`)
  if (heard !== undefined && heard.status !== 200) fault(load, 'a change of a runner', heard)
}

async function tokens(load: Load, _random: Random, _runners: readonly string[], number: number): Promise<void> {
  const headers = { 'idempotency-key': `token-${nowNs()}-${number}` }
  const body = { name: `visitor ${number}`, roles: ['viewer'] }
  const heard = await insist(load, { method: 'POST', body, headers }, '/api/tokens')
  if (heard === undefined) return
  if (heard.status !== 201 && heard.status !== 200) return fault(load, 'a token', heard)
  const gone = await insist(load, { method: 'DELETE' }, `/api/tokens/${heard.body.id}`)
  if (gone !== undefined && gone.status >= 300 && gone.status !== 404) fault(load, 'a revocation', gone)
}

async function look(load: Load): Promise<void> {
  const heard = await insist(load, { method: 'GET' }, '/api/run-requests?state=queued&limit=50')
  if (heard !== undefined && heard.status !== 200) fault(load, 'a list', heard)
}

/** Follows Watch from where the memory ends, resuming after its last cursor after every break. */
export async function watcher(load: Load): Promise<void> {
  const ending = new AbortController()
  const poll = setInterval(() => load.stopping() && ending.abort(), AGAIN_MS)
  try {
    while (!load.stopping()) {
      const url = `${load.url()}/api/watch?since=${load.memory.cursor}`
      const frame = (frame: any): boolean => {
        if (frame.cursor !== undefined) load.memory.watch(frame)
        return load.stopping()
      }
      try {
        await follow({ method: 'GET', url, token: load.token }, frame, ending.signal)
      } catch (error) {
        const refusal = error instanceof Refused && error.status < 500 ? error.message : undefined
        if (load.mayFallBehind && refusal?.includes('cursor_too_old')) load.memory.watched = []
        else if (refusal !== undefined) load.memory.faults.push(`watch was answered ${refusal}`)
        await sleep(AGAIN_MS)
      }
    }
  } finally {
    clearInterval(poll)
  }
}

/** Makes one backup; it may be refused, and the service may die during it. */
export async function backUp(load: Load, name: string): Promise<void> {
  try {
    const url = `${load.url()}/api/backups?wait=60`
    const heard = await ask({ method: 'POST', url, token: load.token, body: { name }, timeoutMs: WAITED_ANSWER_MS })
    if (heard.status === 201) load.memory.backups.push({ atNs: nowNs(), path: heard.body.path })
    // 202: it was not whole when that was said.
    else if (heard.status < 500 && heard.status !== 202 && heard.status !== 409) fault(load, 'a backup', heard)
  } catch {
    // The service is gone: there is no backup, or a whole one that nobody was told of.
  }
}

/** One read of the service, repeated until it is answered. */
export async function read(load: Load, path: string): Promise<any> {
  const heard = await insist(load, { method: 'GET' }, path)
  return heard?.body
}

/** A post by the operator, repeated until it is answered. */
export async function operate(load: Load, path: string, body: object): Promise<any> {
  const heard = await insist(load, { method: 'POST', body }, path)
  if (heard === undefined || heard.status >= 300)
    throw new Error(`${path}: ${heard?.status} ${JSON.stringify(heard?.body)}`)
  return heard.body
}
