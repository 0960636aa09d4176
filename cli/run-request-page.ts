/** A run request for people: its state, why it waits or failed, who asked, and its times. */
import { isDecidedBySource } from '../machines/work-item/results.ts'
import type { Document } from './document.ts'
import { type Printer, safe } from './print.ts'

const TIMES = ['created', 'approved', 'offered', 'accepted', 'started', 'completed', 'failed', 'cancelled', 'lost']

/** Members of a Run Result that repeat the run request. */
const SHOWN_ELSEWHERE = new Set([
  'schema_version',
  'status',
  'completed_at',
  'run_request_id',
  'engine_run_id',
  'project_id',
  'entry_event',
  'throttle',
  'brief_id',
  'brief_digest',
])

export function showRunRequest(body: Document, print: Printer): void {
  print.fields([
    ['id', body.id],
    ['state', print.state(body.state)],
    ['waits because', because(body.waiting_because)],
    ['failure', failureText(body.failure)],
    ['cancel', cancelText(body.cancel)],
    ['project', body.project],
    ['entry event', body.entry_event],
    ['payload', safe(JSON.stringify(body.payload))],
    ['throttle', `${body.throttle}, access ${body.access}, lane ${body.lane}, priority ${body.priority}`],
    ['labels', body.labels.join(', ')],
    ['repository', repositoryText(body.repo)],
    ['brief', body.brief === undefined ? undefined : `${body.brief.id}, ${body.brief.digest}`],
    ['attempt', String(body.attempt)],
    ['runner', body.offered_to],
    ['lease ends', body.lease_expires_at],
    ['engine run', body.engine_run_id],
    ['trace', body.trace_id],
    ['requested by', person(body.requested_by)],
    ['approved by', person(body.approved_by)],
    ...TIMES.map((name) => [name, body[`${name}_at`]] as const),
    ['result', body.result?.status],
    ...resultOf(body),
  ])
  const next = nextStep(body)
  if (next !== undefined) print.line(`\n${next}`)
}

/** What the Run Result contains besides its status and what the page shows anyway. */
function resultOf({ result = {} }: Document): [string, string][] {
  const more = Object.entries(result).filter(([name]) => !SHOWN_ELSEWHERE.has(name))
  return more.map(([name, value]) => [
    `  ${name.replaceAll('_', ' ')}`,
    safe(typeof value === 'string' ? value : JSON.stringify(value)),
  ])
}

/** Which repository, at which revision, on which branch. */
export function repositoryText(repo: Document | undefined): string | undefined {
  if (repo === undefined) return undefined
  const { path, revision, branch } = repo
  const parts = [path, revision && `revision ${revision}`, branch && `branch ${branch}`]
  return safe(parts.filter((part) => part !== undefined).join(', '))
}

/** What a person can do about it, if it needs one. */
export function nextStep(request: Document): string | undefined {
  const { state, id, waiting_because: why } = request
  if (state === 'lost') {
    return (
      'Its runner has not been heard from since, and the work may have been done. Once you know:\n' +
      `  intendant run-request requeue ${id}\n  intendant run-request fail ${id} --message TEXT`
    )
  }
  if (why?.code === 'not_approved') return `Approve it with: intendant run-request approve ${id}`
  if (why?.code === 'runner_removed')
    return `Cancel it, and create another without --runner or for another runner: intendant run-request cancel ${id}`
  const taker = takerFor(request, why)
  return taker === undefined ? undefined : `${taker.does} with: ${taker.command}`
}

interface Taker {
  /** What the command does, as the beginning of a sentence. */
  readonly does: string
  readonly command: string
}

/** What would let a runner take a run request or work item that none may take, by the reason for that. */
export function takerFor(work: Document, why: Document | undefined): Taker | undefined {
  const { project, runner_id: pin } = work
  switch (why?.code) {
    case 'no_runner_allowed':
      if (pin === undefined) return registered(work)
      // An edit replaces the list, so the runner's other projects must be repeated.
      return {
        does: 'Allow it',
        command: `intendant runner edit ${pin}${trustedFor(work)} --project ${project} --project OTHER ${others('that it has')}`,
      }
    case 'no_runner_registered':
    case 'no_runner_with_labels':
      return registered(work)
    case 'no_capable_engine':
      return { does: 'See the manifests', command: `intendant engine list --project ${project}` }
    default:
      return undefined
  }
}

function registered({ project, runner_id: pin, labels, ...work }: Document): Taker {
  const offers = pin === undefined ? (labels ?? []).map((label: string) => ` --label ${safe(label)}`).join('') : ''
  const initiative = wholeInitiative(work)
  const [more, which] =
    initiative === undefined
      ? ['', '']
      : [' --project OTHER', ` ${others(`that intendant initiative show ${safe(initiative)} lists`)}`]
  const options = `${more}${offers}${trustedFor(work)} --save-token`
  return { does: 'Register one', command: `intendant runner add ${pin ?? 'ID'} --project ${project}${options}${which}` }
}

const others = (which: string): string => `(OTHER: each other project ${which})`

/** The initiative of an assessment that no member is pinned to: its runner is told about all of its projects. */
function wholeInitiative({ entry_event: entry, source, payload = {} }: Document): string | undefined {
  const isAssessment = source?.role === 'assessment' || entry === 'initiative_advance_requested'
  return isAssessment && payload.member === undefined ? String(payload.initiative) : undefined
}

/**
 * A work item runs at full throttle, and at full access unless its source decides it; its document names neither.
 */
function trustedFor({ source, throttle = 'full', access }: Document): string {
  const isReadOnly = source !== undefined && isDecidedBySource({ source })
  return throttle === 'full' && (access ?? (isReadOnly ? 'read_only' : 'full')) === 'full' ? ' --trusted' : ''
}

export function because(why: Document | undefined): string | undefined {
  return why === undefined ? undefined : `${safe(why.detail)} (${why.code})`
}

export function failureText(failure: Document | undefined): string | undefined {
  if (failure === undefined) return undefined
  return `${failure.class}${failure.code === undefined ? '' : `, ${failure.code}`}: ${safe(failure.message)}`
}

function cancelText(cancel: Document | undefined): string | undefined {
  if (cancel === undefined) return undefined
  const reason = cancel.reason ?? cancel.code
  return `requested at ${cancel.requested_at}${reason === undefined ? '' : `: ${safe(reason)}`}`
}

function person(by: Document | undefined): string | undefined {
  return by === undefined ? undefined : `${safe(by.name)} (${by.id})`
}
