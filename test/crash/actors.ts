/**
 * The people and machines around a service that dies: they note what was acknowledged to them and nothing else,
 * and say everything again until they hear an answer, as a careful client does.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** What the outside was told, to be held against what the service holds in the end. */
export interface Acknowledged {
  /** Run request ids whose creation was answered. */
  readonly created: Set<string>
  /** Event ids whose post was answered, by run request. */
  readonly events: Map<string, Set<string>>
  /** Run requests whose completion was answered. */
  readonly completed: Set<string>
  /** `request/attempt` -> the runner that was told it may begin. */
  readonly started: Map<string, string>
  readonly faults: string[]
}

export interface Load {
  readonly url: () => string
  readonly token: string
  readonly acknowledged: Acknowledged
  readonly stopping: () => boolean
}

interface Heard {
  readonly status: number
  readonly body: any
}

/** Says it again until there is an answer that is not 5xx or 429. Undefined when the load is stopping. */
async function insist(load: Load, method: string, path: string, token: string, body?: object, headers?: object) {
  for (;;) {
    try {
      const answer = await fetch(load.url() + path, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
        signal: AbortSignal.timeout(5_000),
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      const text = await answer.text()
      if (answer.status < 500 && answer.status !== 429)
        return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) } as Heard
    } catch {
      // The service is gone, or the connection broke: nobody knows what became of the post. Say it again.
    }
    if (load.stopping()) return undefined
    await sleep(20)
  }
}

/** Creates run requests one after another, each under its own idempotency key. */
export async function requester(load: Load, name: string, project: string): Promise<void> {
  for (let number = 0; !load.stopping(); number++) {
    const body = { entry_event: 'execution_requested', payload: { name, number }, idempotency_key: `${name}-${number}` }
    const heard = await insist(load, 'POST', `/api/projects/${project}/run-requests`, load.token, body)
    if (heard === undefined) return
    if (heard.status === 201 || heard.status === 200) load.acknowledged.created.add(heard.body.id)
    else load.acknowledged.faults.push(`create was answered ${heard.status} ${JSON.stringify(heard.body)}`)
    await sleep(2)
  }
}

/** Polls, accepts, starts, reports and completes, for ever; gives up a request only when it is told that it is stale. */
export async function runner(load: Load, id: string, token: string): Promise<void> {
  while (!load.stopping()) {
    const poll = await insist(load, 'GET', `/api/runners/${id}/run-requests/next?wait=1`, token)
    if (poll === undefined) return
    if (poll.status === 200) await work(load, id, token, poll.body)
    else if (poll.status !== 204) load.acknowledged.faults.push(`poll was answered ${poll.status}`)
  }
}

async function work(load: Load, runnerId: string, token: string, request: any): Promise<void> {
  const { request_id: id, attempt } = request
  const post = (step: string, body: object) =>
    insist(load, 'POST', `/api/run-requests/${id}/${step}`, token, { attempt, ...body })
  const isTaken = (heard: Heard | undefined, step: string): boolean => {
    if (heard === undefined || heard.status === 409) return false
    if (heard.status === 200) return true
    load.acknowledged.faults.push(`${step} of ${id} was answered ${heard.status} ${JSON.stringify(heard.body)}`)
    return false
  }
  if (!isTaken(await post('accepted', {}), 'accepted')) return
  if (!isTaken(await post('started', {}), 'started')) return
  noteStart(load.acknowledged, `${id}/${attempt}`, runnerId)
  const event = {
    event_type: 'greeting_composed',
    occurred_at: new Date().toISOString(),
    payload: { greeting: `${id}/${attempt}` },
  }
  if (!isTaken(await post('events', { events: [event] }), 'events')) return
  noteEvents(load.acknowledged, id)
  if (isTaken(await post('completed', { result: { status: 'completed' } }), 'completed'))
    load.acknowledged.completed.add(id)
}

function noteStart(acknowledged: Acknowledged, key: string, runnerId: string): void {
  const holder = acknowledged.started.get(key)
  if (holder !== undefined && holder !== runnerId)
    acknowledged.faults.push(`${key} was begun by ${holder} and by ${runnerId}`)
  acknowledged.started.set(key, runnerId)
}

function noteEvents(acknowledged: Acknowledged, id: string): void {
  acknowledged.events.set(id, new Set([...(acknowledged.events.get(id) ?? []), id]))
}

/** Follows Watch from the beginning, taken up again behind its last cursor after every break. */
export async function watcher(load: Load, seen: string[], until: () => boolean): Promise<void> {
  let since = 'earliest'
  while (!until()) {
    const ending = new AbortController()
    const poll = setInterval(() => until() && ending.abort(), 50)
    try {
      const answer = await fetch(`${load.url()}/api/watch?since=${since}`, {
        headers: { authorization: `Bearer ${load.token}`, accept: 'text/event-stream' },
        signal: ending.signal,
      })
      if (answer.status !== 200) throw new Error(`watch was answered ${answer.status}`)
      for await (const frame of framesOf(answer.body!)) {
        since = frame.cursor
        for (const event of frame.events ?? []) seen.push(event.id)
      }
    } catch {
      await sleep(20)
    } finally {
      clearInterval(poll)
    }
  }
}

async function* framesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<any> {
  const decoder = new TextDecoder()
  let buffered = ''
  for await (const chunk of body) {
    buffered += decoder.decode(chunk, { stream: true })
    for (let end = buffered.indexOf('\n\n'); end >= 0; end = buffered.indexOf('\n\n')) {
      const block = buffered.slice(0, end)
      buffered = buffered.slice(end + 2)
      const data = block.split('\n').filter((line) => line.startsWith('data:'))
      if (data.length > 0) yield JSON.parse(data.map((line) => line.slice(5).trim()).join('\n'))
    }
  }
}

/** Every event of the log in order, read page by page. */
export async function wholeLog(load: Load): Promise<any[]> {
  const events: any[] = []
  let path: string | undefined = '/api/events?limit=500'
  while (path !== undefined) {
    const heard: Heard | undefined = await insist(load, 'GET', path, load.token)
    if (heard === undefined || heard.status !== 200) throw new Error(`the log was answered ${heard?.status}`)
    events.push(...heard.body.items)
    const { next_cursor } = heard.body
    path = next_cursor === undefined ? undefined : `/api/events?limit=500&cursor=${next_cursor}`
  }
  return events
}

/** One read of the service, said again until it is answered. */
export async function read(load: Load, path: string): Promise<any> {
  const heard = await insist(load, 'GET', path, load.token)
  return heard?.body
}

/** A post by the operator, said again until it is answered. */
export async function operate(load: Load, path: string, body: object): Promise<any> {
  const heard = await insist(load, 'POST', path, load.token, body)
  if (heard === undefined || heard.status >= 300)
    throw new Error(`${path}: ${heard?.status} ${JSON.stringify(heard?.body)}`)
  return heard.body
}
