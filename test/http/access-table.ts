/** The table of rights for docs/ACCESS.md, made from the route list that the gate checks against. */
import type { Route } from '../../http/route.ts'

const RUNNER_WORDS = {
  own: 'its own path',
  holder: 'what it holds or held',
  allowed_project: 'its allowed projects',
} as const

const RIGHT_WORDS: Readonly<Record<string, string>> = {
  none: 'no token',
  any: 'any token',
  runner: 'only the runner',
}

function rightWord(right: string): string {
  return RIGHT_WORDS[right] ?? `\`${right}\``
}

/** A Markdown table with one row per route, in the order of the list. */
export function accessTable(routes: readonly Route[]): string {
  const rows = routes.map(({ method, path, access }) => {
    const right = [access.right, access.orRight]
      .filter((one) => one !== undefined)
      .map(rightWord)
      .join(' or ')
    const closed = access.isClosedToRuns === true ? ', not a run’s' : ''
    const runner = access.right === 'none' ? 'yes' : access.runner === undefined ? 'no' : RUNNER_WORDS[access.runner]
    return `| \`${method} ${path}\` | ${right}${closed} | ${runner} |`
  })
  return ["| Endpoint | Right | A runner's token |", '|---|---|---|', ...rows, ''].join('\n')
}
