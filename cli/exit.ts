/**
 * How every command ends: one table of exit codes, and failures as sentences that say what was wrong, where, and what
 * to do.
 */
import { CommanderError } from 'commander'
import { Redirected, rootOf, ServiceRefused, ServiceUnreachable } from '../engine/errors.ts'
import { mayHelp } from '../engine/retry.ts'

export const EXIT = {
  ok: 0,
  /** The command did its work, and the outcome is bad: a failed run, a damaged log. */
  failed: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** The service refused. */
  refused: 3,
  /** The service did not answer, or cannot do it now. */
  unreachable: 4,
  /** The run that was followed was cancelled. */
  cancelled: 5,
  /** The time limit for waiting is over. */
  timeout: 6,
  /** What was to be verified could not be examined, and may be sound. */
  notLookedAt: 7,
  interrupted: 130,
  /** The reader of its output went away before the outcome on which the command was to end. */
  readerGone: 141,
} as const

export const ENDS_HELP = `
Exit codes:
  0  done; with --wait: the run completed; task, queue wait: the item landed
  1  done, but the outcome is bad: the run failed, the item did not land, the log is damaged, status
       found something critical; serve could not start or continue; the command of watch failed; the
       collector refused the spans of otel
  2  the command line or a setting is wrong
  3  the service refused the request
  4  the service cannot be reached, or cannot answer now
  5  with --wait, task, queue wait: it was cancelled
  6  with --wait-limit: not at its end when the time was up
  7  verify did not examine it: a service is running on that home, a newer version has written it,
       or this machine cannot read it (another user's files, too few open files, too little memory)
  130  stopped before all of many were tried; ended at once by a repeated signal: the second to serve
       and to a command upon many, the fourth to runner, watch, attention and otel; with runner
       --once: stopped before it had a run
  141  with --wait, --follow or --exec: the reader of the output went away before the outcome was
       known

With --json an error is one JSON object on standard error: the service's problem (RFC 9457), or the
same members (code, title, detail) for an error found by the command itself, with exit_code. Notes
printed before the end, such as what it is waiting for, are lines like {"note":"..."}.
`

/** A failure found by the command itself. Its message is shown as it is. */
export class CliFailure extends Error {
  override readonly name = 'CliFailure'
  readonly exitCode: number

  constructor(message: string, exitCode: number = EXIT.usage, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause })
    this.exitCode = exitCode
  }
}

/** Errors of other folders whose message is a sentence for the operator: why the service or a home cannot be opened. */
const OWN_SENTENCES: ReadonlySet<string> = new Set(['ServerFailure', 'HomeRefused', 'JournalFailure'])

/** How a command has failed: for people, and for `--json`. */
interface Failure {
  /** Empty if it was printed already. */
  readonly text: string
  readonly exitCode: number
  /** The service's problem as received (RFC 9457), or the command's own failure in the same members. */
  readonly problem: Readonly<Record<string, unknown>>
}

/** `code` and `title` of the command's own failures, by exit code. */
const LOCAL: Readonly<Record<number, readonly [code: string, title: string]>> = {
  [EXIT.failed]: ['failed', 'The command failed'],
  [EXIT.usage]: ['usage', 'The command line or a setting is wrong'],
  [EXIT.refused]: ['refused', 'The service refused'],
  [EXIT.unreachable]: ['unreachable', 'The service does not answer'],
  [EXIT.timeout]: ['timeout', 'The time limit for waiting is over'],
  [EXIT.notLookedAt]: ['not_looked_at', 'It was not examined'],
  [EXIT.interrupted]: ['interrupted', 'It was stopped'],
}

/**
 * @param tokenFrom where the token that was sent comes from, in words
 */
export function explain(error: unknown, tokenFrom?: string): Failure {
  if (error instanceof ServiceRefused) {
    const later = mayHelp(error) && error.problem.status !== 500
    return {
      text: refusalText(error, tokenFrom),
      exitCode: later ? EXIT.unreachable : EXIT.refused,
      problem: { ...error.problem },
    }
  }
  if (error instanceof CliFailure) return found(error.message, error.exitCode)
  if (error instanceof CommanderError) return { ...found(usageText(error), EXIT.usage), text: '' }
  if (error instanceof Redirected) return found(`${error.message}.`, EXIT.unreachable)
  if (error instanceof ServiceUnreachable) {
    const hint = certificateHint(rootOf(error).code) ?? NOBODY_HINT
    return found(`${error.message}\n${hint}`, EXIT.unreachable)
  }
  if (error instanceof Error && error.name === 'TemporaryFolderFailed') return found(error.message, EXIT.usage)
  const isSentence = error instanceof Error && (OWN_SENTENCES.has(error.name) || hasCode(error))
  if (isSentence) return found(sentenceOf(error), EXIT.failed)
  const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return found(`an internal error of intendant: ${text}`, EXIT.failed)
}

const NOBODY_HINT = 'Is the service running there (intendant serve)? Set ENGINE_URL or --url if it is elsewhere.'

/** OpenSSL's names for a chain that ends in a certificate that this machine does not trust. */
const UNTRUSTED: ReadonlySet<unknown> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** What to do about a service whose certificate is refused; undefined if it is not that. */
function certificateHint(code: unknown): string | undefined {
  if (UNTRUSTED.has(code))
    return 'If the certificate is of an authority of your own, name that in a file (PEM): NODE_EXTRA_CA_CERTS=FILE.'
  if (code === 'CERT_HAS_EXPIRED') return 'Renew its certificate, and restart the service.'
  return code === 'ERR_TLS_CERT_ALTNAME_INVALID' ? 'Use a name of the certificate in ENGINE_URL or --url.' : undefined
}

/** The error's message, with the code by which OPERATIONS.md lists why a home is refused. */
export function sentenceOf(error: Error): string {
  return error.name === 'HomeRefused' && hasCode(error) ? `${error.message} (${error.code})` : error.message
}

function found(text: string, exitCode: number): Failure {
  const [code, title] = LOCAL[exitCode] ?? LOCAL[EXIT.failed]!
  return { text, exitCode, problem: { code, title, detail: text } }
}

function hasCode(error: NodeJS.ErrnoException): error is NodeJS.ErrnoException & { readonly code: string } {
  return typeof error.code === 'string'
}

/** Commander prints its help if a command is missing, and gives no message. */
function usageText({ code, message }: CommanderError): string {
  return code === 'commander.help' ? 'a command is missing: see --help' : message.replace(/^error: /, '')
}

function refusalText({ problem, method, path, message }: ServiceRefused, tokenFrom: string | undefined): string {
  const lines = [message]
  for (const { pointer, detail } of problem.errors ?? [])
    lines.push(`  ${pointer === '' ? '(body)' : pointer}  ${detail}`)
  if (problem.state !== undefined) {
    const isSaid = message.toLowerCase().includes(`it is ${problem.state}`)
    const said = isSaid ? [] : [`is ${problem.state}`]
    if (problem.allowed !== undefined && problem.allowed.length > 0) said.push(`accepts: ${problem.allowed.join(', ')}`)
    if (said.length > 0) lines.push(`  It ${said.join(', and ')}.`)
  }
  if (tokenFrom !== undefined && (problem.status === 401 || problem.code === 'forbidden'))
    lines.push(`  The token that was sent comes from ${tokenFrom}.`)
  if (problem.status === 401) lines.push('  Set ENGINE_TOKEN, or --token-file, to a token that the service knows.')
  lines.push(`  (${problem.status} ${problem.code}, ${method} ${path})`)
  return lines.join('\n')
}
