/**
 * The token that the service gives a run's command. It goes into the command's environment and nowhere else: what the
 * command prints of it, as `env` or `set -x` do, is not posted.
 */
import type { Line } from './output.ts'

/** Where the command, and `intendant` in it, find the service. */
export interface RunAccess {
  readonly url: string
  readonly token: string
}

const HIDDEN = 'irt_...'

/** The token in the answer to `started`; undefined if the runner's runs get none. */
export function runTokenIn({ run_token }: Record<string, unknown>): string | undefined {
  return typeof run_token === 'string' ? run_token : undefined
}

/** Gives the lines on with the token hidden, also within events and results. */
export function hiding(token: string | undefined, give: (lines: readonly Line[]) => void): typeof give {
  if (token === undefined) return give
  const hidden = (line: Line): Line =>
    line.text.includes(token) ? { ...line, text: line.text.replaceAll(token, HIDDEN) } : line
  return (lines) => give(lines.map(hidden))
}
