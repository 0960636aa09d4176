/**
 * Thousands of parked runners and the client that creates work for them, in a process of its own. Each runner is a
 * connection with a long poll; once woken, it completes what it was given and polls again.
 */
import { performance } from 'node:perf_hooks'
import { answerRequests } from './child.ts'
import { createBody } from './load-scripts.ts'
import { quantile } from './statistics.ts'
import { Connection, formatRequest, type Target } from './wire.ts'

export interface ParkJob {
  readonly target: Target
  readonly runners: readonly { readonly id: string; readonly token: string }[]
  readonly waitSeconds: number
}

export interface WakeJob {
  readonly project: string
  readonly token: string
  readonly wakes: number
  readonly everyMs: number
}

export interface WakeResult {
  /** From the first byte of the create to the woken poll's answer. */
  readonly fromPostMs: { readonly p50: number; readonly p99: number; readonly max: number }
  /** From the create's answer to the woken poll's answer; negative if the poll was answered first. */
  readonly fromAnswerMs: { readonly p50: number; readonly p99: number }
  readonly wakes: number
  /** Polls that ended with 204 during the measurement. */
  readonly empty: number
}

const OPEN_AT_ONCE = 200
/** Connections for creates. At the measured pace this many are waiting at once only if the service stands still. */
const CREATORS = 100
const REQUEST_ID = '"request_id":"'

interface Wake {
  sentMs: number
  answeredMs: number
  wokenMs: number
}

const parked: Connection[] = []
/** By run request id. A poll may be answered before the create that woke it. */
const wakes = new Map<string, Wake>()
let target: Target
let empty = 0
let left = 0
let answered = 0
let lastSerial = 0
let finished: () => void = () => {}
let failed: (failure: Error) => void = (failure) => {
  throw failure
}

async function park(job: ParkJob): Promise<number> {
  target = job.target
  for (let at = 0; at < job.runners.length; at += OPEN_AT_ONCE) {
    const part = job.runners.slice(at, at + OPEN_AT_ONCE)
    const connections = await Promise.all(part.map(() => Connection.open(job.target)))
    part.forEach((runner, index) => {
      parkOne(connections[index]!, runner, job.waitSeconds)
    })
    parked.push(...connections)
  }
  return parked.length
}

function parkOne(connection: Connection, runner: { id: string; token: string }, waitSeconds: number): void {
  const path = `/api/runners/${runner.id}/run-requests/next?wait=${waitSeconds}`
  const poll = formatRequest('GET', path, runner.token)
  let polling = true
  connection.listen(
    (status, text, from, to) => {
      if (polling && status === 204) {
        empty++
        connection.send(poll)
        return
      }
      if (status !== 200) {
        failed(new Error(`${polling ? 'poll' : 'completed'}: ${status} ${text.slice(from, to)}`))
        return
      }
      if (polling) {
        const id = woken(text.slice(from, to))
        const body = '{"attempt":1,"result":{"status":"completed"}}'
        connection.send(formatRequest('POST', `/api/run-requests/${id}/completed`, runner.token, body))
      } else connection.send(poll)
      polling = !polling
    },
    (failure) => failed(failure),
  )
  connection.send(poll)
}

/** @returns the id of the run request that woke this poll. */
function woken(body: string): string {
  const at = body.indexOf(REQUEST_ID) + REQUEST_ID.length
  const id = body.slice(at, body.indexOf('"', at))
  const wake = wakeOf(id)
  if (wake.wokenMs !== 0) failed(new Error(`given twice: ${body}`))
  wake.wokenMs = performance.now()
  settle(wake)
  return id
}

function wakeOf(id: string): Wake {
  let wake = wakes.get(id)
  if (wake === undefined) {
    wake = { sentMs: 0, answeredMs: 0, wokenMs: 0 }
    wakes.set(id, wake)
  }
  return wake
}

function settle(wake: Wake): void {
  if (wake.wokenMs === 0 || wake.answeredMs === 0) return
  left--
  if (left === 0) finished()
}

/** Creates work at a steady pace, whether or not earlier work was taken. */
async function wake(job: WakeJob): Promise<WakeResult> {
  wakes.clear()
  empty = 0
  answered = 0
  left = job.wakes
  const ended = new Promise<void>((resolve, reject) => {
    finished = resolve
    failed = reject
  })
  ended.catch(() => {})
  const creators: Connection[] = []
  for (let n = 0; n < CREATORS; n++) creators.push(await Connection.open(target))
  const from = performance.now()
  for (let n = 0; n < job.wakes; n++) {
    const waitMs = from + n * job.everyMs - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
    create(creators, job)
  }
  const timeout = new Promise<never>((_, reject) => {
    setTimeout(() => reject(new Error(`${left} of ${job.wakes} polls were never woken`)), 20_000).unref()
  })
  await Promise.race([ended, timeout])
  return summary()
}

function create(creators: Connection[], job: WakeJob): void {
  const connection = creators.shift()
  if (connection === undefined) {
    failed(new Error('all creators are busy: the service does not keep the pace'))
    return
  }
  const serial = ++lastSerial
  const sentMs = performance.now()
  connection.listen(
    (status, text, from, to) => {
      if (status !== 201) failed(new Error(`create: ${status} ${text.slice(from, to)}`))
      const wake = wakeOf(JSON.parse(text.slice(from, to)).id)
      wake.sentMs = sentMs
      wake.answeredMs = performance.now()
      creators.push(connection)
      // Close idle creators before the service does.
      if (++answered === job.wakes) for (const creator of creators) creator.close()
      settle(wake)
    },
    (failure) => failed(failure),
  )
  connection.send(formatRequest('POST', `/api/projects/${job.project}/run-requests`, job.token, createBody(serial)))
}

function summary(): WakeResult {
  const all = [...wakes.values()]
  const fromPost = all.map((wake) => wake.wokenMs - wake.sentMs)
  const fromAnswer = all.map((wake) => wake.wokenMs - wake.answeredMs)
  return {
    fromPostMs: { p50: quantile(fromPost, 0.5), p99: quantile(fromPost, 0.99), max: Math.max(...fromPost) },
    fromAnswerMs: { p50: quantile(fromAnswer, 0.5), p99: quantile(fromAnswer, 0.99) },
    wakes: all.length,
    empty,
  }
}

answerRequests({ park, wake })
