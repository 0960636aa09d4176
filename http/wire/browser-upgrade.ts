/**
 * A page in a browser that asks for a WebSocket and offers a token: the status of a refusal, and what it says, are hidden from it. What is refused
 * for its token or its query is kept here, and told on the socket, which ends with that.
 */

import type { ProblemCode, ProblemExtra } from '../problems.ts'
import type { QueryFault } from '../watch/watch.ts'
import { Exchange } from './exchange.ts'

const TOLD: ReadonlySet<ProblemCode> = new Set(['unauthenticated', 'forbidden', 'invalid_query'])

export class BrowserUpgrade extends Exchange {
  /** What is to be told on the socket; undefined: nothing was refused, or it was answered over HTTP. */
  refusal: QueryFault | undefined = undefined

  override problem(code: ProblemCode, detail: string, extra?: ProblemExtra): void {
    if (!TOLD.has(code)) {
      super.problem(code, detail, extra)
      return
    }
    const { problems } = this.entry
    problems.set(code, (problems.get(code) ?? 0) + 1)
    this.problemCode = code
    this.refusal = { code, detail, ...(extra === undefined ? {} : { extra }) }
  }
}
