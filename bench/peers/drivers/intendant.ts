/**
 * Ours: create, poll, completed over HTTP, one keep-alive connection per client. Two clients in the same language:
 * plain sockets (as a thin SDK would use) and `node:http` (as a script would).
 */
import { Agent, request } from 'node:http'
import { Connection } from '../../wire.ts'
import type { Driver, Job, Open } from '../driver.ts'
import type { Address } from '../server.ts'
import { PROJECT } from '../servers/intendant.ts'

interface Caller {
  ask(method: string, path: string, token: string, body?: object): Promise<{ status: number; body: any }>
  close(): void
}

class Cycles implements Driver {
  readonly #callers: readonly Caller[]
  readonly #token: string
  readonly #runners: readonly { readonly id: string; readonly token: string }[]

  constructor(callers: readonly Caller[], address: Address) {
    this.#callers = callers
    this.#token = address.token as string
    this.#runners = address.runners as { id: string; token: string }[]
  }

  async cycle(client: number, job: Job): Promise<void> {
    const caller = this.#callers[client]!
    const runner = this.#runners[client]!
    const create = { entry_event: 'execution_requested', payload: job }
    expect(await caller.ask('POST', `/api/projects/${PROJECT}/run-requests`, this.#token, create), 201)
    const id = await this.#take(caller, runner)
    const result = { attempt: 1, result: { status: 'completed' } }
    expect(await caller.ask('POST', `/api/run-requests/${id}/completed`, runner.token, result), 200)
  }

  async #take(caller: Caller, runner: { readonly id: string; readonly token: string }): Promise<string> {
    for (;;) {
      const answer = await caller.ask('GET', `/api/runners/${runner.id}/run-requests/next`, runner.token)
      if (answer.status === 204) continue
      expect(answer, 200)
      return answer.body.request_id
    }
  }

  async close(): Promise<void> {
    for (const caller of this.#callers) caller.close()
  }
}

function expect(answer: { status: number; body: any }, status: number): void {
  if (answer.status !== status) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`)
}

export const plain: Open = async (address, clients) =>
  new Cycles(await Promise.all(Array.from({ length: clients }, () => Connection.open(address))), address)

export const nodeHttp: Open = async (address, clients) => {
  const callers = Array.from({ length: clients }, () => httpCaller(address))
  return new Cycles(callers, address)
}

function httpCaller({ host, port }: Address): Caller {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    close: () => agent.destroy(),
    ask: (method, path, token, body) =>
      new Promise((resolve, reject) => {
        const text = body === undefined ? '' : JSON.stringify(body)
        const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' }
        const length = { 'Content-Length': Buffer.byteLength(text) }
        const options = {
          host,
          port,
          method,
          path,
          agent,
          headers: body === undefined ? headers : { ...headers, ...length },
        }
        const call = request(options, (answer) => {
          const parts: Buffer[] = []
          answer.on('data', (part) => parts.push(part))
          answer.once('error', reject)
          answer.once('end', () => {
            const said = Buffer.concat(parts).toString('utf8')
            resolve({ status: answer.statusCode!, body: said === '' ? undefined : JSON.parse(said) })
          })
        })
        call.once('error', reject)
        call.end(text)
      }),
  }
}
