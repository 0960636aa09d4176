/**
 * How every command ends: one table of exit codes, and failures told as sentences that say what was wrong, where,
 * and what to do.
 */
import { ServiceRefused, ServiceUnreachable } from '../engine/errors.ts'
import { mayHelp } from '../engine/retry.ts'

export const EXIT = {
  ok: 0,
  /** The command did its work, and the outcome is bad: a failed run, a damaged log. */
  failed: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** The service said no. */
  refused: 3,
  /** The service did not answer, or cannot now. */
  unreachable: 4,
  /** The run that was waited for was cancelled. */
  cancelled: 5,
  /** The time to wait is over. */
  timeout: 6,
  interrupted: 130,
} as const

export const EXIT_CODES_HELP = `
Exit codes:
  0  done; with --wait: the run completed
  1  done, and the outcome is bad: the run failed, the log is damaged
  2  the command line or a setting is wrong
  3  the service refused it
  4  the service cannot be reached, or cannot answer now
  5  with --wait: the run was cancelled
  6  with --wait-limit: still running when the time was over
`

/** A failure that the command itself found. Its message is shown as it is. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.usage, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.exitCode = exitCode
  }
}

/** Errors of the folders below whose message is a sentence for the operator: why the service or a home cannot be opened. */
const OWN_SENTENCES: ReadonlySet<string> = new Set(['ServerFailure', 'HomeRefused', 'JournalFailure'])

/** What to print on standard error, and the exit code. */
export function explain(error: unknown): { readonly text: string; readonly exitCode: number } {
  if (error instanceof CliFailure) return { text: error.message, exitCode: error.exitCode }
  if (error instanceof ServiceRefused) {
    const later = mayHelp(error) && error.problem.status !== 500
    return { text: refusalText(error), exitCode: later ? EXIT.unreachable : EXIT.refused }
  }
  if (error instanceof ServiceUnreachable) {
    const text = `${error.message}\nIs the service running there (intendant serve)? Set ENGINE_URL or --url if it is elsewhere.`
    return { text, exitCode: EXIT.unreachable }
  }
  if (error instanceof Error && OWN_SENTENCES.has(error.name)) return { text: error.message, exitCode: EXIT.failed }
  if (error instanceof Error && typeof (error as NodeJS.ErrnoException).code === 'string') {
    return { text: error.message, exitCode: EXIT.failed }
  }
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return { text: `a fault in intendant itself: ${text}`, exitCode: EXIT.failed }
}

function refusalText({ problem, method, path, message }: ServiceRefused): string {
  const lines = [`${problem.title ?? problem.code}: ${message}`]
  for (const { pointer, detail } of problem.errors ?? [])
    lines.push(`  ${pointer === '' ? '(body)' : pointer}  ${detail}`)
  if (problem.state !== undefined) {
    const allowed = problem.allowed ?? []
    lines.push(`  It is ${problem.state}${allowed.length === 0 ? '' : `, and would take: ${allowed.join(', ')}`}.`)
  }
  if (problem.status === 401) lines.push('  Set ENGINE_TOKEN, or --token-file, to a token that the service knows.')
  lines.push(`  (${problem.status} ${problem.code}, ${method} ${path})`)
  return lines.join('\n')
}
