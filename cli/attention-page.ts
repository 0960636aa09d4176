/** What needs a person, for people: what it is called, what it asks, and the commands that help. */
import { RENEW_CERTIFICATE } from '../machines/certificate.ts'
import { failingOf, skippingOf, unscheduledOf } from '../machines/sentinel/last.ts'
import { adviceFor as campaignAdvice } from './campaign-page.ts'
import type { Document } from './document.ts'
import { called } from './hypotheses.ts'
import { cut, safe } from './print.ts'
import { takerFor } from './run-request-page.ts'
import { adviceFor as itemAdvice } from './work-item-page.ts'

const ABOUT_COLUMNS = 40
/** Wide enough to read a question before answering it. */
const ASKED_COLUMNS = 160

/** A drift item is named by its record; an initiative, a campaign or a sentinel by its name. */
export function idOf(item: Document): string {
  return String(
    item.id ??
      item[item.kind]?.id ??
      item.initiative?.name ??
      item.campaign?.name ??
      item.sentinel?.name ??
      item.drift?.intent_record.key ??
      '',
  )
}

/** What it asks or why it is stuck, if that matters most; else what it is. */
export function whatOf(item: Document): string {
  const { reason, campaign, initiative, sentinel, work_item } = item
  const asked = {
    escalated: campaign?.paused?.escalated ?? campaign?.reason,
    paused: campaign?.reason,
    asked: initiative?.questions[0]?.text,
    close_proposed: initiative?.close_proposals[0]?.reason,
    needs_decision: work_item?.reason,
    failed: work_item?.reason,
    failing: sentinel?.failing && failingOf(sentinel),
    unscheduled: sentinel && unscheduledOf(sentinel),
    skipping: sentinel && skippingOf(sentinel),
  }[reason as string]
  if (asked === undefined) return cut(aboutOf(item), ABOUT_COLUMNS)
  const words = safe(String(asked))
  return cut(work_item === undefined ? words : `${cut(aboutOf(item), ABOUT_COLUMNS)}: ${words}`, ASKED_COLUMNS)
}

/** What it is, in the first words of its own text. */
function aboutOf(item: Document): string {
  const { formation_brief: brief, governed_by, hypothesis, drift, initiative, campaign, sentinel } = item
  const { work_item, run_request } = item
  if (item.stalled_project !== undefined) return `work of ${safe(item.stalled_project.name)} waits for a runner`
  if (item.certificate !== undefined) return `TLS certificate until ${item.certificate.expires_at}`
  const { entry_event, payload } = run_request ?? {}
  const whose = payload?.campaign ?? payload?.initiative
  if (hypothesis !== undefined) return called(hypothesis)
  if (governed_by !== undefined) return safe(`${governed_by.title ?? governed_by.objective} (${governed_by.id})`)
  const words =
    brief?.title ??
    brief?.mission.objective ??
    drift?.intent_record.title ??
    initiative?.outcome ??
    campaign?.mission ??
    sentinel?.item.objective ??
    work_item?.objective ??
    payload?.objective ??
    (typeof whose === 'string' ? `${entry_event} of ${whose}` : entry_event)
  return safe(String(words ?? '-'))
}

/** What to do about it, on one line; empty if nothing is known. */
export function adviceFor(item: Document, id: string): string {
  switch (item.reason) {
    case 'lost':
      return `intendant run-request requeue ${id}, or fail ${id} --message TEXT`
    case 'no_runner_online':
      return awayAdvice(item)
    case 'no_runner':
      return noRunnerAdvice(item, id)
    case 'unapproved':
      return `intendant run-request approve ${id}, or cancel ${id}`
    case 'reviewable':
      return `intendant brief show ${id}, then ${reviewMove(item.formation_brief)}, or archive ${id}`
    case 'lapsed':
      return lapsedAdvice(item.formation_brief)
    case 'asked':
      return `intendant initiative show ${id}, then decide ${id} --question ID --decision TEXT`
    case 'close_proposed':
      return `intendant initiative complete ${id} --reason TEXT, or decide ${id} --decision TEXT`
    case 'escalated':
    case 'paused':
      return campaignAdvice(item.campaign).join(', or ')
    case 'failing':
      return failingAdvice(item.sentinel)
    case 'unscheduled':
      return `intendant sentinel edit ${id} --time-zone ZONE, or start the service with a newer Node.js: then it goes on by itself`
    case 'skipping':
      return skippingAdvice(item.sentinel)
    case 'certificate_expiring':
      return RENEW_CERTIFICATE
    case 'hypothesis':
      return `intendant hypothesis accept ${id}, or reject ${id} --reason TEXT`
    case 'drift':
      return `intendant drift show ${id}, then classify ${id} --as real, allowed_exception or obsolete_intent`
    default:
      return item.work_item === undefined ? '' : itemAdvice(item.work_item).join(', or ')
  }
}

/** Why the newest of its items failed, and how to have it submit something else or nothing. */
function failingAdvice({ name, failing }: Document): string {
  const newest = failing?.items.at(-1)?.item_id
  const look = newest === undefined ? `intendant queue --source sentinel:${name}` : `intendant queue show ${newest}`
  return `${look}, then intendant sentinel edit ${name} TEXT, or pause ${name}`
}

/** What stands in its way, if that is known, and how to have it fall due less often or not at all. */
function skippingAdvice({ name, last }: Document): string {
  const awake = last?.skipped === 'missed' ? 'keep the service running at these times, or ' : ''
  const look = last?.item_id === undefined ? awake : `intendant queue show ${last.item_id}, then `
  return `${look}intendant sentinel edit ${name} --cron PATTERN, or pause ${name}`
}

/** A brief that lacks a part would be refused at its approval. */
function reviewMove({ id, missing }: Document): string {
  return missing === undefined ? `approve ${id} --throttle dry_run or full` : `edit ${id}: it is incomplete`
}

/** What has changed, and the next step: a brief whose records no longer guide runs cannot be approved. */
function lapsedAdvice({ id, lapsed }: Document): string {
  const moves =
    lapsed?.code === 'reapproval_required' ? `approve ${id} --throttle dry_run or full, or archive` : 'archive'
  return `${lapsed?.detail ?? ''} intendant brief ${moves} ${id}`.trim()
}

/** The runners that may take the work and are away. It goes on by itself once one of them, or a new one, connects. */
function awayAdvice({ project, because: why }: Document): string {
  const start =
    why?.code === 'limited'
      ? 'See whether its agent is installed and its provider answers, then intendant runner unlimit ID'
      : 'Start one on its machine (intendant runner list shows when each was last seen)'
  return `${why?.detail ?? ''} ${start}, or intendant runner add ID --project ${project} --save-token (with the labels and --trusted that it needs)`.trim()
}

/**
 * Why no runner may take it, what would let one, and how to cancel. An item's run request is cancelled with the item.
 */
function noRunnerAdvice({ run_request: run, work_item: work, because: why }: Document, id: string): string {
  const item = run === undefined ? id : run.work_item_id
  const cancel = item === undefined ? `intendant run-request cancel ${id}` : `intendant queue cancel ${item}`
  return `${why?.detail ?? ''} ${[takerFor(run ?? work, why)?.command, cancel].filter(Boolean).join(', or ')}`.trim()
}
