/** Runners and what their runs are given: for tests of the tokens of runs. */
import type { Test } from 'tap'
import { type Reply, startTestService, type TestService } from './service-harness.ts'

export const RUN_RIGHTS = ['view', 'intent.write', 'work.submit', 'event.emit']

/** A runner, with whatever its runs need. */
export class Holder {
  readonly #s: TestService
  readonly #token: string
  readonly id: string

  constructor(s: TestService, id: string, token: string) {
    this.#s = s
    this.id = id
    this.#token = token
  }

  static async of(s: TestService, id = 'builder', more: object = {}): Promise<Holder> {
    return new Holder(s, id, await s.runner(id, { run_rights: RUN_RIGHTS, capacity: 9, ...more }))
  }

  post(requestId: string, what: string, body: object = { attempt: 1 }, status = 200): Promise<Reply> {
    return this.#s.expect(status, 'POST', `/api/run-requests/${requestId}/${what}`, body, { token: this.#token })
  }

  async poll(): Promise<any> {
    const { body } = await this.#s.expect(200, 'GET', `/api/runners/${this.id}/run-requests/next`, undefined, {
      token: this.#token,
    })
    return body
  }

  /** Takes the next request; returns its id and its token. */
  async take(): Promise<{ id: string; attempt: number; token: string; accepted: Reply }> {
    const { request_id: id, attempt } = await this.poll()
    const accepted = await this.post(id, 'accepted', { attempt })
    return { id, attempt, token: accepted.body.run_token, accepted }
  }
}

/** A project, a runner whose runs have all rights that runs can have, and one run of it. */
export async function underWay(t: Test, options: Parameters<typeof startTestService>[2] = {}) {
  const s = await startTestService(t, {}, options)
  await s.project('shop')
  await s.project('bank')
  const holder = await Holder.of(s)
  await s.request('shop')
  return { s, holder, ...(await holder.take()) }
}

/** Whether the token lets its holder in; whoever is not let in learns nothing more. */
export async function admits(s: TestService, token: string): Promise<boolean> {
  const { status, body } = await s.call('GET', '/api/tokens/self', undefined, { token })
  if (status !== 200 && body.code !== 'unauthenticated') throw new Error(`${status} ${JSON.stringify(body)}`)
  return status === 200
}
