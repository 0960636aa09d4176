/** A plain HTTP client with kept-alive connections, under which a service may be killed. */
import { Agent, type IncomingMessage, request } from 'node:http'

export interface Heard {
  readonly status: number
  readonly body: any
  /** The `Watch-Cursor` of the answer, if it has one. */
  readonly cursor: string | undefined
}

export interface Ask {
  readonly method: string
  readonly url: string
  readonly token: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  readonly timeoutMs?: number
}

const agent = new Agent({ keepAlive: true })
const ANSWER_MS = 10_000
/** Of a request with `?wait=60`, which may be answered as late as that. */
export const WAITED_ANSWER_MS = 70_000

/**
 * Rejects when there was no complete answer, so that nobody knows whether the request was carried out; with a
 * SyntaxError when it was not JSON.
 */
export function ask(what: Ask): Promise<Heard> {
  return new Promise((resolve, reject) => {
    const opened = open(what, reject, (answer) => {
      let text = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        text += chunk
      })
      answer.on('error', reject)
      answer.on('aborted', () => reject(new Error('the answer was cut off')))
      answer.on('end', () => {
        const cursor = answer.headers['watch-cursor']
        try {
          const body = text === '' ? undefined : JSON.parse(text)
          resolve({ status: answer.statusCode!, body, cursor: typeof cursor === 'string' ? cursor : undefined })
        } catch {
          reject(new SyntaxError(`${what.method} ${what.url} was answered ${answer.statusCode} ${text}`))
        }
      })
    })
    opened.setTimeout(what.timeoutMs ?? ANSWER_MS, () => opened.destroy(new Error('no answer in time')))
  })
}

/** Reads a stream of server-sent events until it breaks (rejects), or `frame` or the signal ends it (resolves). */
export function follow(what: Ask, frame: (frame: any) => boolean, enough: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { ...what.headers, accept: 'text/event-stream' }
    const leave = (): void => {
      enough.removeEventListener('abort', leave)
      opened.destroy()
      resolve()
    }
    const fail = (error: Error): void => {
      enough.removeEventListener('abort', leave)
      reject(error)
    }
    enough.addEventListener('abort', leave)
    const opened = open({ ...what, headers }, fail, (answer) => {
      let buffered = ''
      answer.setEncoding('utf8')
      answer.on('data', (chunk) => {
        buffered += chunk
        if (answer.statusCode !== 200) return
        for (let end = buffered.indexOf('\n\n'); end >= 0; end = buffered.indexOf('\n\n')) {
          const lines = buffered.slice(0, end).split('\n')
          buffered = buffered.slice(end + 2)
          const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim())
          if (data.length > 0 && frame(JSON.parse(data.join('\n')))) return leave()
        }
      })
      answer.on('error', fail)
      answer.on('close', () => {
        fail(answer.statusCode === 200 ? new Error('the stream ended') : new Refused(answer.statusCode!, buffered))
      })
    })
  })
}

/** The service refused a stream. */
export class Refused extends Error {
  readonly status: number

  constructor(status: number, text: string) {
    super(`${status} ${text}`)
    this.status = status
  }
}

function open(what: Ask, reject: (error: Error) => void, answered: (answer: IncomingMessage) => void) {
  const text = what.body === undefined ? undefined : JSON.stringify(what.body)
  const headers = {
    authorization: `Bearer ${what.token}`,
    ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...what.headers,
  }
  const opened = request(what.url, { method: what.method, headers, agent })
  opened.on('error', reject)
  opened.on('response', answered)
  opened.end(text)
  return opened
}
