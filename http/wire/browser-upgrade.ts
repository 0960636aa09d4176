/**
 * A WebSocket upgrade by a browser page that offers a token. Browsers hide the status and body of a refused upgrade
 * from the page. So a refusal because of the token or the query is kept here, sent on the opened socket, and the socket
 * is closed.
 */

import type { ProblemCode, ProblemExtra } from '../problems.ts'
import type { QueryFault } from '../watch/watch.ts'
import { Exchange } from './exchange.ts'

const TOLD: ReadonlySet<ProblemCode> = new Set(['unauthenticated', 'forbidden', 'invalid_query'])

export class BrowserUpgrade extends Exchange {
  /** The problem to send on the socket; undefined if nothing was refused, or if it was answered over HTTP. */
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
