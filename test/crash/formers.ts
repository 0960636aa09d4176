/**
 * People who have briefs approved, compiled and run while the service dies under them, each with a runner of their own
 * that reports what it saw. In the end every digest still stands for what it was answered for, every observation has
 * reached its record exactly once, and the brief has followed its run to the end.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { insist, type Load } from './actors.ts'

export interface Formed {
  readonly brief: string
  readonly digest: string
  /** The answer to the compile. */
  readonly compiled: unknown
  readonly record: string
  /** What was observed of the record; undefined: its acceptance was not acknowledged. */
  seen?: 'pass' | 'fail'
  /** Its run was acknowledged as completed. */
  completed?: boolean
}

interface Begun {
  readonly attempt: number
  readonly trace: { readonly trace_id: string }
  readonly engineRun: string
}

export interface Former {
  readonly name: string
  readonly runner: { readonly id: string; readonly token: string }
}

/** A step that was carried out as the service died may be illegal when it is repeated. */
const EXPECTED = new Set([200, 201, 204, 409])
const HEARD_TRIES_MAX = 200
const HEARD_PAUSE_MS = 50
/** A trace of the engine's own, recorded after each run. */
const TRACE_EVENTS = 20

export async function former(load: Load, { name, runner }: Former, formed: Formed[]): Promise<void> {
  for (let number = 0; !load.closing(); number++) {
    const one = await compiled(load, `${name}-${number}`)
    if (one === undefined) return
    formed.push(one)
    if (!(await ran(load, runner, one, number))) return
  }
}

/** Repeats a request until it is answered; undefined: the load is stopping, or the answer was a fault. */
async function say(load: Load, path: string, body: object, token = load.token, key?: string): Promise<any> {
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  const heard = await insist(load, { method: 'POST', body, headers }, path, token)
  if (heard === undefined || EXPECTED.has(heard.status)) return heard
  load.memory.faults.push(`${path} was answered ${heard.status} ${JSON.stringify(heard.body)}`)
  return undefined
}

/** Makes a record that guides runs, and a frozen brief of it. */
async function compiled(load: Load, key: string): Promise<Formed | undefined> {
  const evidence = [{ description: 'it is seen' }]
  const record = await say(load, `/projects/${load.project}/intent-records`, { title: key, evidence }, load.token, key)
  if (record === undefined) return undefined
  const { id } = record.body
  if ((await say(load, `/api/intent-records/${id}/accept`, {})) === undefined) return undefined
  const sections = {
    project: load.project,
    mission: { objective: key, engineering_intent_refs: [id] },
    protected_capabilities: [{ id, statement: key }],
    evidence_plan: { required: ['it is seen'] },
  }
  const made = await say(load, '/formation-briefs', sections, load.token, key)
  if (made === undefined) return undefined
  const brief: string = made.body.id
  for (const [move, body] of [['submit', {}] as const, ['approve', { throttle: 'dry_run' }] as const])
    if ((await say(load, `/api/formation-briefs/${brief}/${move}`, body)) === undefined) return undefined
  const frozen = await say(load, `/formation-briefs/${brief}/compile-prompts`, {})
  if (frozen === undefined) return undefined
  load.memory.tell(`formation_brief_compiled ${brief}`)
  return { brief, digest: frozen.body.digest, compiled: frozen.body, record: id }
}

/** Polls for the request and starts it; an offer that expired before it was taken comes again. */
async function begin(load: Load, runner: Former['runner'], id: string): Promise<Begun | undefined> {
  const poll = `/api/runners/${runner.id}/run-requests/next?wait=1`
  for (;;) {
    const heard = await insist(load, { method: 'GET' }, poll, runner.token)
    if (heard === undefined) return undefined
    const offered: any = heard.body
    if (offered?.request_id !== id) continue
    const { attempt, trace } = offered
    const started = await say(load, `/api/run-requests/${id}/started`, { attempt }, runner.token)
    if (started === undefined) return undefined
    if (started.status === 200) return { attempt, trace, engineRun: started.body.run_request.engine_run_id }
  }
}

/** Has the former's own runner run it and report what it saw. False: the load is stopping. */
async function ran(load: Load, runner: Former['runner'], one: Formed, number: number): Promise<boolean> {
  const { brief: id, digest, record } = one
  const wanted = {
    entry_event: 'execution_requested',
    brief: { id, digest },
    runner_id: runner.id,
    idempotency_key: `${runner.id}-${number}`,
  }
  const made = await say(load, `/api/projects/${load.project}/run-requests`, wanted)
  if (made === undefined) return false
  const path = `/api/run-requests/${made.body.id}`
  const begun = await begin(load, runner, made.body.id)
  if (begun === undefined) return false
  const { attempt, trace, engineRun } = begun
  const result = number % 2 === 0 ? 'pass' : 'fail'
  const at = new Date().toISOString()
  const observation = { evidence_id: `${record}.e1`, result, observed_by: 'engine', source_type: 'test_run' }
  const run = `/api/engine-runs/${engineRun}`
  const observations = [{ ...observation, observed_at: at }]
  const seen = await say(load, `${run}/evidence-observations`, { observations }, runner.token)
  if (seen === undefined) return false
  one.seen = result
  load.memory.tell(`evidence_observed ${seen.body.evidence[0].id}`)
  if ((await say(load, `${run}/trace-summary`, { blocks_executed: [id] }, runner.token)) === undefined) return false
  const events = Array.from({ length: TRACE_EVENTS }, (_, n) => ({
    id: `evt_${made.body.id.slice('runreq_'.length)}${n.toString(16).padStart(8, '0')}`,
    event_type: 'block_executed',
    occurred_at: at,
    payload: { n },
  }))
  const ingested = await say(load, `/engine/traces/${trace.trace_id}/ingest`, { events }, runner.token)
  if (ingested === undefined) return false
  const { accepted, duplicates } = ingested.body
  if (accepted + duplicates !== TRACE_EVENTS) load.memory.faults.push(`${accepted} and ${duplicates} events of a trace`)
  for (const event of events) load.memory.tell(event.id)
  const ended = await say(load, `${path}/completed`, { attempt, result: { status: 'completed' } }, runner.token)
  one.completed = ended?.status === 200
  return ended !== undefined
}

/** What no longer holds of the answers. */
export async function briefsHoldTogether(load: Load, formed: readonly Formed[]): Promise<string[]> {
  const faults: string[] = []
  for (const one of formed) faults.push(...(await holds(load, one)))
  return faults
}

async function holds(load: Load, { brief, digest, compiled, record, seen, completed }: Formed): Promise<string[]> {
  const read = async (path: string): Promise<any> => (await insist(load, { method: 'GET' }, path))?.body
  const faults: string[] = []
  const frozen = await read(`/api/formation-briefs/${brief}/compiled?digest=${digest}`)
  if (!isDeepStrictEqual(frozen, compiled)) faults.push(`${digest} does not stand for what it was answered to`)
  if (seen === undefined) return faults
  const word = seen === 'pass' ? 'holding' : 'drifted'
  const drift = await heard(
    () => read(`/api/projects/${load.project}/drift/${record}`),
    (one) => one.observations === 1 && one.status === word,
  )
  if (drift.observations !== 1 || drift.status !== word)
    faults.push(`${record} is ${drift.status} with ${drift.observations} observations, not ${word} with one`)
  if (completed !== true) return faults
  const { state } = await heard(
    () => read(`/api/formation-briefs/${brief}`),
    (one) => one.state === 'analyzed',
  )
  if (state !== 'analyzed') faults.push(`${brief} is ${state} behind a run that was completed with evidence`)
  return faults
}

/** What comes by message comes soon, now that nothing dies any more. */
async function heard(read: () => Promise<any>, holds: (one: any) => boolean): Promise<any> {
  let one = await read()
  for (let tries = 0; tries < HEARD_TRIES_MAX && !holds(one); tries++) {
    await sleep(HEARD_PAUSE_MS)
    one = await read()
  }
  return one
}
