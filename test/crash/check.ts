/**
 * Compares what a service holds after it died with what those around it were told. Every function returns the faults it
 * found.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { verifyHooks } from '../../runtime/offline/verify-hooks.ts'
import { verifyHome } from '../../storage/verify/verify.ts'
import { ask, follow } from './client.ts'
import { type Fact, factOf, keysOf, type Memory, sequenceOf } from './memory.ts'

const SHOWN_MAX = 10
const PAGE = 500
/** An answer comes a moment after its event was recorded. */
const ANSWER_LAG_MS = 2_000
const WATCH_MS = 20_000
/** How often, and after how long, documents and log that disagree are read again. */
const LOOKS_AGAIN = 10
const LOOK_PAUSE_MS = 200

export interface Service {
  readonly url: string
  readonly token: string
}

/** Throws unless the answer is 200. */
export async function get({ url, token }: Service, path: string) {
  const heard = await ask({ method: 'GET', url: url + path, token })
  if (heard.status !== 200) throw new Error(`${path} was answered ${heard.status} ${JSON.stringify(heard.body)}`)
  return heard
}

export interface WholeLog {
  readonly facts: readonly Fact[]
  /** How many events of the log's whole life lie before the first of these, and up to the last. */
  readonly before: number
  readonly last: number
}

/** Every event in the log, in order, read page by page. */
export async function wholeLog(service: Service): Promise<WholeLog> {
  const facts: Fact[] = []
  let path: string | undefined = `/api/events?limit=${PAGE}`
  let last = 0
  while (path !== undefined) {
    const { body, cursor }: { body: any; cursor: string | undefined } = await get(service, path)
    for (const event of body.items) facts.push(factOf(event))
    if (cursor !== undefined) last = sequenceOf(cursor)
    path = body.next_cursor === undefined ? undefined : `/api/events?limit=${PAGE}&cursor=${body.next_cursor}`
  }
  return { facts, before: last - facts.length, last }
}

/** Everything acknowledged is there, once; nothing but what retention may remove is missing. */
export function holdsWhatWasTold(memory: Memory, { facts, before, last }: WholeLog): string[] {
  const faults: string[] = []
  const seen = new Set<string>()
  const keys = new Set<string>()
  for (const fact of facts) {
    if (seen.has(fact.id)) faults.push(`event ${fact.id} is in the log twice`)
    seen.add(fact.id)
    for (const key of keysOf(fact)) keys.add(key)
  }
  const oldestMs = before === 0 ? 0 : (facts[0]?.recordedMs ?? Number.POSITIVE_INFINITY) + ANSWER_LAG_MS
  for (const { key, atMs } of memory.told) {
    if (!keys.has(key) && atMs >= oldestMs) faults.push(`acknowledged and lost: ${key}`)
  }
  if (last < memory.lastSequence) faults.push(`the log ends at ${last}, an answer spoke of ${memory.lastSequence}`)
  return faults.slice(0, SHOWN_MAX)
}

/** What Watch sent has no gap and no repeat, and is what the log holds. */
export function watchAgreesWith(memory: Memory, { facts, before }: WholeLog): string[] {
  const faults: string[] = []
  let at: number | undefined
  for (const { cursor, facts } of memory.watched) {
    const sequence = sequenceOf(cursor)
    at ??= sequence - facts.length
    if (sequence !== at + facts.length) faults.push(`Watch went from ${at} to ${sequence} with ${facts.length} events`)
    for (const [i, fact] of facts.entries()) {
      const place = sequence - facts.length + i
      const held = place < before ? undefined : (factAt(place) ?? 'nothing')
      if (held !== undefined && held !== fact.id) faults.push(`Watch gave ${fact.id} at ${place}, the log has ${held}`)
    }
    at = sequence
  }
  return faults.slice(0, SHOWN_MAX)

  function factAt(place: number): string | undefined {
    return facts[place - before]?.id
  }
}

/** Resumed after its last cursor, Watch sends the rest of the log and nothing else. */
export async function watchResumes(service: Service, memory: Memory, log: WholeLog): Promise<string[]> {
  const from = memory.cursor === 'earliest' ? log.before : sequenceOf(memory.cursor)
  if (from < log.before) return []
  const expected = log.facts.slice(from - log.before).map(({ id }) => id)
  const given: string[] = []
  let hello: string | undefined
  const url = `${service.url}/api/watch?since=${memory.cursor}`
  const enough = AbortSignal.timeout(WATCH_MS)
  const frame = (frame: any): boolean => {
    if (frame.type === 'hello') hello = frame.cursor
    for (const event of frame.events ?? []) given.push(event.id)
    return hello !== undefined && given.length >= expected.length
  }
  await follow({ method: 'GET', url, token: service.token }, frame, enough)
  const faults: string[] = []
  if (hello === undefined || sequenceOf(hello) !== from) faults.push(`Watch began at ${hello}, not at ${from}`)
  const wrong = expected.findIndex((id, i) => given[i] !== id)
  if (wrong >= 0) faults.push(`taken up at ${from}, Watch gave ${given[wrong]} instead of ${expected[wrong]}`)
  return faults
}

/** Every run request is in the state that its last event says. */
export function documentsAgreeWith(service: Service, log: WholeLog): Promise<string[]> {
  return settledFaults(service, log, requestFaults)
}

async function requestFaults(service: Service, { facts }: WholeLog): Promise<string[]> {
  const said = new Map<string, Fact>()
  for (const fact of facts) if (fact.state !== undefined) said.set(fact.requestId!, fact)
  const faults: string[] = []
  let path: string | undefined = `/api/run-requests?limit=${PAGE}`
  let documents = 0
  while (path !== undefined) {
    const { body }: { body: any } = await get(service, path)
    for (const { id, state, attempt } of body.items) {
      documents += 1
      const fact = said.get(id)
      if (fact === undefined) continue
      if (fact.state !== state) faults.push(`${id} is ${state}, its last event says ${fact.state}`)
      if (fact.attempt !== undefined && fact.attempt !== attempt)
        faults.push(`${id} is at attempt ${attempt}, its last event says ${fact.attempt}`)
    }
    path = body.next_cursor === undefined ? undefined : `/api/run-requests?limit=${PAGE}&cursor=${body.next_cursor}`
  }
  if (said.size > 0 && documents === 0) faults.push(`the log tells of ${said.size} run requests, the list has none`)
  return faults.slice(0, SHOWN_MAX)
}

/** Every work item is in the state that its last event says. */
export function itemsAgreeWith(service: Service, log: WholeLog): Promise<string[]> {
  return settledFaults(service, log, itemFaults)
}

async function itemFaults(service: Service, { facts }: WholeLog): Promise<string[]> {
  const said = new Map<string, Fact>()
  for (const fact of facts) if (fact.itemId !== undefined) said.set(fact.itemId, fact)
  const faults: string[] = []
  let path: string | undefined = `/api/work-items?limit=${PAGE}`
  while (path !== undefined) {
    const { body }: { body: any } = await get(service, path)
    for (const { id, state } of body.items) {
      const fact = said.get(id)
      if (fact !== undefined && fact.itemState !== state)
        faults.push(`${id} is ${state}, its last event says ${fact.itemState}`)
    }
    path = body.next_cursor === undefined ? undefined : `/api/work-items?limit=${PAGE}&cursor=${body.next_cursor}`
  }
  return faults.slice(0, SHOWN_MAX)
}

/**
 * What a service does by itself as soon as it is up (taking back work that nobody can begin) may come between reading
 * the log and the documents: only a disagreement that persists is a fault.
 */
export async function settledFaults(
  service: Service,
  log: WholeLog,
  find: (service: Service, log: WholeLog) => Promise<string[]>,
): Promise<string[]> {
  let faults = await find(service, log)
  for (let look = 0; faults.length > 0 && look < LOOKS_AGAIN; look++) {
    await sleep(LOOK_PAUSE_MS)
    faults = await find(service, await wholeLog(service))
  }
  return faults
}

/** The findings of `intendant verify`. */
export async function verified(home: string): Promise<string[]> {
  const { findings } = await verifyHome(home, verifyHooks())
  return findings.slice(0, SHOWN_MAX).map(({ code, where, detail }) => `verify of ${home}: ${code} ${where}: ${detail}`)
}
