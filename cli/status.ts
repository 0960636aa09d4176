/**
 * `intendant status`: the state of the service on one page, from its own API. The exit code says whether somebody must look:
 * critical is what OPERATIONS.md says to be woken by, as far as a single look can tell.
 */
import type { Command } from 'commander'
import { textOf } from '../engine/body.ts'
import type { Client } from '../engine/client.ts'
import { AnswerBroken, ForeignRefusal, type Problem, ServiceRefused, ServiceUnreachable } from '../engine/errors.ts'
import { CERTIFICATE_SOON_MS, CERTIFICATE_URGENT_MS, RENEW_CERTIFICATE } from '../machines/certificate.ts'
import type { Document } from './document.ts'
import { EXIT, explain } from './exit.ts'
import { awayIn, pausedText, placesText, stoppedLabels } from './limits.ts'
import { ALL, list } from './lists.ts'
import { safe } from './print.ts'
import { counted, roundedSize } from './units.ts'
import type { Act, Cli } from './world.ts'

const METRICS_MS = 30_000

const HELP = `
Exit codes: 0, all is well; 1, the service is not ready, or something is critical (it is listed);
4, the service does not answer.`

export function addStatus(program: Command, act: Act): void {
  program
    .command('status')
    .description('Show the state of the service: readiness, runners, the ledger, free disk space, what needs a person.')
    .addHelpText('after', HELP)
    .action(act(status))
}

async function status(cli: Cli): Promise<number> {
  const { client, json, print } = cli
  const readiness = await readinessOf(client)
  const page = { url: client.url, ready: readiness.problem === undefined, ...(await standing(client, readiness)) }
  const critical = criticalIn(page, readiness)
  if (json) print.json({ ...page, ...(readiness.problem && { problem: readiness.problem }), critical })
  else show(cli, page, readiness, critical)
  return critical.length === 0 ? EXIT.ok : EXIT.failed
}

/** What /readyz says: the counts of a service that is ready, or why it is not. */
interface Readiness {
  readonly counts: Document
  readonly problem?: Problem
}

async function readinessOf(client: Client): Promise<Readiness> {
  try {
    const { body } = await client.request('GET', '/readyz')
    return { counts: body }
  } catch (error) {
    // A 503 of a proxy says nothing about the service.
    if (!(error instanceof ServiceRefused) || error instanceof ForeignRefusal || error.problem.status !== 503)
      throw error
    return { counts: {}, problem: error.problem }
  }
}

interface Standing {
  readonly version?: string
  readonly started_at?: string
  readonly runners?: Readonly<
    Record<'online' | 'draining' | 'limited' | 'gone' | 'never_seen' | 'slots' | 'slots_used', number>
  >
  readonly ledger?: Document
  readonly disk?: Readonly<Record<'free_bytes' | 'reserve_bytes', number>>
  /** When the TLS certificate expires; absent without TLS. */
  readonly certificate_expires_at?: string
  /** Lanes. */
  readonly paused?: readonly string[]
  /** Labels limited to 0. */
  readonly stopped_labels?: readonly string[]
  /** How many of each reason need a person. */
  readonly attention?: Readonly<Record<string, number>>
}

/** A service that is not ready may answer nothing else; then its readiness is all there is to show. */
async function standing(client: Client, { problem }: Readiness): Promise<Standing> {
  try {
    return await readStanding(client)
  } catch (error) {
    if (problem === undefined || explain(error).exitCode !== EXIT.unreachable) throw error
    return {}
  }
}

async function readStanding(client: Client): Promise<Standing> {
  const [version, metrics, runners, pacing, attention] = await Promise.all([
    client.request('GET', '/api/version'),
    metricsOf(client),
    list(client, '/api/runners', ALL),
    client.request('GET', '/api/pacing'),
    list(client, '/api/attention', ALL),
  ])
  const startedAt = metrics('process_start_time_seconds')
  const freeBytes = metrics('intendant_disk_free_bytes')
  const expiresAt = metrics('intendant_certificate_expiry_timestamp_seconds')
  return {
    version: version.body.version,
    ...(startedAt === undefined ? {} : { started_at: new Date(startedAt * 1000).toISOString() }),
    runners: fleetOf(runners.items),
    ledger: ledgerOf(pacing.body),
    ...(freeBytes === undefined
      ? {}
      : { disk: { free_bytes: freeBytes, reserve_bytes: version.body.settings.disk_reserve_bytes } }),
    ...(expiresAt === undefined ? {} : { certificate_expires_at: new Date(expiresAt * 1000).toISOString() }),
    paused: pacing.body.paused,
    stopped_labels: stoppedLabels(pacing.body),
    attention: countsOf(attention.items),
  }
}

/** Looks up the value of a metric without labels; undefined if the service does not know it. */
async function metricsOf(client: Client): Promise<(name: string) => number | undefined> {
  const text = await metricsText(client)
  return (name) => {
    const value = Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    return Number.isNaN(value) ? undefined : value
  }
}

/** Throws ServiceRefused, or ServiceUnreachable also for an answer that breaks off or takes too long. */
async function metricsText(client: Client): Promise<string> {
  const signal = AbortSignal.timeout(METRICS_MS)
  try {
    return await textOf(await client.stream('/metrics', { headers: { accept: 'text/plain' }, signal }), signal)
  } catch (error) {
    if (error instanceof AnswerBroken || signal.aborted) throw new ServiceUnreachable(client.url, error)
    throw error
  }
}

function fleetOf(runners: readonly Document[]): NonNullable<Standing['runners']> {
  const those = (wanted: string): readonly Document[] => runners.filter(({ presence }) => presence === wanted)
  const there = those('online')
  const draining = there.filter(({ state }) => state === 'draining').length
  const sum = (of: (runner: Document) => number): number => there.reduce((total, runner) => total + of(runner), 0)
  return {
    online: there.length - draining,
    draining,
    limited: there.filter(({ limited }) => limited !== undefined).length,
    gone: those('offline').length,
    never_seen: those('never_seen').length,
    slots: sum(({ capacity }) => capacity),
    slots_used: sum(({ in_flight }) => in_flight.length),
  }
}

function ledgerOf(pacing: Document): Document {
  const { running_count, max_running, waiting_count, waiting, unreadable } = pacing
  const away = awayIn(pacing)
  const [oldest] = [...waiting].sort((a: Document, b: Document) => (a.since < b.since ? -1 : 1))
  const { id, since, reason } = oldest ?? {}
  return {
    running: running_count,
    ...(away === 0 ? {} : { waiting_for_provider: away }),
    max_running,
    waiting: waiting_count,
    held: waiting.filter(({ state }: Document) => state === 'held').length,
    ...(oldest === undefined ? {} : { oldest: { id, since, reason } }),
    ...(unreadable === true ? { pauses_unreadable: true } : {}),
  }
}

/** Most pressing first, as they are listed. */
function countsOf(rows: readonly Document[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { reason } of rows) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}

function msLeft(end: string | undefined): number {
  return end === undefined ? Number.POSITIVE_INFINITY : Date.parse(end) - Date.now()
}

/** What `/readyz` counts that is wrong, in words. */
const WRONG = [
  ['quarantined', 'entity cannot be read', 'entities cannot be read'],
  ['set_aside', 'message is set aside', 'messages are set aside'],
  ['passed_over', 'entity is passed over', 'entities are passed over'],
] as const

function criticalIn(
  { runners, ledger, certificate_expires_at: end }: Standing,
  { counts, problem }: Readiness,
): string[] {
  const found: string[] = []
  if (problem !== undefined) found.push(`it is not ready: ${problem.detail ?? problem.title} (${problem.code})`)
  for (const [name, one, many] of WRONG)
    if (counts[name] > 0) found.push(`${counted(counts[name], one, many)}: see the log`)
  if (ledger?.pauses_unreadable) found.push('the pause state cannot be read: every lane is paused')
  if (msLeft(end) < CERTIFICATE_URGENT_MS) found.push(`its TLS certificate expires at ${end}: ${RENEW_CERTIFICATE}`)
  if (runners !== undefined && runners.gone > 0 && runners.online + runners.draining === 0)
    found.push('no runner is online: intendant runner list')
  return found
}

function show({ print }: Cli, page: Standing & Document, { problem }: Readiness, critical: readonly string[]): void {
  const { version, started_at: start, runners, ledger, disk, attention, certificate_expires_at: end } = page
  const paused = pausedText(page.paused ?? [], page.stopped_labels ?? [])
  print.fields([
    ['service', `${page.url}${version === undefined ? '' : `, version ${version}`}`],
    ['since', start === undefined ? undefined : `${start} (${print.age(start)})`],
    ['ready', problem === undefined ? print.tint('yes', 'good') : print.tint('no', 'bad')],
    ['runners', runners && fleetText(runners)],
    ['slots', runners && `${runners.slots_used} of ${runners.slots} used`],
    ['ledger', ledger && ledgerText(ledger)],
    [
      'oldest',
      ledger?.oldest && `${ledger.oldest.id} for ${print.age(ledger.oldest.since)}: ${safe(ledger.oldest.reason)}`,
    ],
    ['disk', disk && `${roundedSize(disk.free_bytes)} free, ${roundedSize(disk.reserve_bytes)} reserved`],
    ['certificate', end && `expires at ${msLeft(end) < CERTIFICATE_SOON_MS ? print.tint(end, 'warn') : end}`],
    ['paused', paused === '' ? undefined : print.tint(paused, 'warn')],
    ['needs you', attention && attentionText(attention)],
  ])
  if (critical.length > 0) print.line()
  for (const text of critical) print.text(print.tint(`critical: ${safe(text)}`, 'bad'), '  ')
}

function fleetText({ online, draining, limited, gone, never_seen: unseen }: NonNullable<Standing['runners']>): string {
  const resting = limited > 0 ? ` (${limited} limited: intendant runner list)` : ''
  return `${online} online${resting}, ${draining} draining, ${gone} offline${unseen > 0 ? `, ${unseen} never seen` : ''}`
}

function ledgerText({ running, max_running: max, waiting_for_provider: away = 0, waiting, held }: Document): string {
  return `${placesText(running, max, away)}, ${waiting} waiting${held > 0 ? ` (${held} held)` : ''}`
}

function attentionText(attention: Readonly<Record<string, number>>): string {
  const kinds = Object.entries(attention).map(([reason, count]) => `${count} ${reason}`)
  return kinds.length === 0 ? 'nothing' : `${kinds.join(', ')}: intendant attention`
}
