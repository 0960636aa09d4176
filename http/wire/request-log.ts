/**
 * One line a request at level `debug`: who asked what, and what came of it. No query, header or body is in it,
 * since those may hold secrets. While the level is off nothing is measured and nothing is called.
 */
import type { Logger } from 'pino'
import { TOKEN_PREFIX } from '../../runtime/access/secrets.ts'
import type { Exchange } from './exchange.ts'

/** What the exchange calls for each answer (a stream's: when it begins); undefined where the level is off. */
export function requestLog(log: Logger): ((exchange: Exchange, status: number) => void) | undefined {
  if (!log.isLevelEnabled('debug')) return undefined
  return (exchange, status) => {
    const { method, route, path, caller, problemCode, bodyBytes, begunMs } = exchange
    const line: Record<string, unknown> = {
      method,
      route: route.path,
      path: withoutTokens(path.slice(0, PATH_CHARACTERS_MAX)),
      status,
      ms: Math.round((performance.now() - begunMs) * 1_000) / 1_000,
    }
    if (caller !== undefined) line.by = caller.id
    if (problemCode !== undefined) line.problem = problemCode
    if (bodyBytes > 0) line.body_bytes = bodyBytes
    log.debug(line, 'answered')
  }
}

/** Whoever takes a token for an id puts it into the path. */
function withoutTokens(path: string): string {
  return path.replaceAll(TOKEN, `${TOKEN_PREFIX}...`)
}

const TOKEN = new RegExp(`${TOKEN_PREFIX}[A-Za-z0-9_%-]*`, 'g')
/** A path may be as long as the headers allow. */
const PATH_CHARACTERS_MAX = 200
