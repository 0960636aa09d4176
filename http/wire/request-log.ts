/**
 * One log line per request at level `debug`: who asked for what, and the outcome. It contains no query, header or body,
 * since those may hold secrets. While the level is off nothing is measured or called.
 */
import type { Logger } from 'pino'
import { RUN_TOKEN_PREFIX } from '../../runtime/access/run-tokens.ts'
import { TOKEN_PREFIX } from '../../runtime/access/secrets.ts'
import type { Exchange } from './exchange.ts'

/**
 * The callback that the exchange calls for each answer (for a stream: at its beginning); undefined if the level is off.
 */
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

/** A caller that takes a token for an id puts it into the path. */
function withoutTokens(path: string): string {
  return path.replaceAll(TOKEN, '$1...')
}

const TOKEN = new RegExp(`(${TOKEN_PREFIX}|${RUN_TOKEN_PREFIX})[A-Za-z0-9_%-]*`, 'g')
/** A path may be as long as the header bound allows. */
const PATH_CHARACTERS_MAX = 200
