/** A formation brief for people: its state, its content, who has approved it, and the outcome of its run. */
import { TO_BE_RUN } from '../machines/formation-brief/states.ts'
import { isId } from '../machines/ids.ts'
import { isRecord } from './brief-content.ts'
import type { Document } from './document.ts'
import { type Printer, safe, said } from './print.ts'
import { repositoryText } from './run-request-page.ts'
import { counted } from './units.ts'

const INTENT_KINDS = ['product', 'design', 'engineering']
const DIGEST_SHOWN = 'sha256:'.length + 12

/** `keys`: the keys of the records that it names by id. */
export function showBrief(brief: Document, print: Printer, keys: ReadonlyMap<string, string>): void {
  const { mission, compiled, engine_controls: controls = {}, repo } = brief
  print.fields([
    ['id', brief.id],
    ['project', brief.project],
    ['state', `${print.state(brief.state)}${brief.reason === undefined ? '' : `: ${safe(brief.reason)}`}`],
    ['title', said(brief.title)],
    ['objective', said(mission.objective)],
    ['throttle', brief.throttle],
    ['entry event', controls.entry_event],
    ['repository', repositoryText(repo)],
    ['formation', said(brief.agent_formation?.pattern)],
    ['version', String(brief.version)],
    ['digest', brief.digest],
    ['compiled for', compiled?.revision === undefined ? undefined : `revision ${safe(compiled.revision)}`],
    ['created', `${brief.created_at}${person(brief.created_by)}`],
    ['submitted', brief.submitted_at],
    ['compiled', compiled === undefined ? undefined : `${compiled.compiled_at}${person(compiled.compiled_by)}`],
    ['archived', brief.archived_at],
  ])
  section(print, 'Done when', mission.definition_of_done)
  section(print, 'Intent', intentOf(mission, isRecord, keys))
  section(
    print,
    'Refers to',
    intentOf(mission, (ref) => !isRecord(ref), keys),
  )
  section(
    print,
    'Protects',
    brief.protected_capabilities?.map(
      ({ statement, name, id }: Document) => statement ?? name ?? keys.get(id) ?? id ?? '',
    ),
  )
  section(print, 'Forbids', brief.forbidden_moves)
  section(print, 'Required evidence', brief.evidence_plan?.required)
  section(print, 'Approvals', brief.approvals.map(approval))
  if (brief.lapsed !== undefined) section(print, 'No approval is valid any longer', [brief.lapsed.detail])
  if (brief.run !== undefined) section(print, 'Latest run', [run(brief.run)])
  section(
    print,
    'Missing for compilation',
    brief.missing?.map(({ pointer, detail }: Document) => `${pointer} ${detail}`),
  )
}

/** What a person can do with it next. */
export function nextStep(brief: Document): string {
  const { id, state, throttle, lapsed, missing = [] } = brief
  if (lapsed !== undefined) return TO_BE_RUN.has(state) ? againStep(brief) : ''
  const edit = missing.length === 0 ? '' : `Add what is missing with: intendant brief edit ${id}\n`
  const steps: Record<string, string> = {
    draft: `${edit}Submit it for review with: intendant brief submit ${id}`,
    reviewable: edit === '' ? `Approve it with: intendant brief approve ${id} --throttle ${throttle}` : edit.trimEnd(),
    approved: `Compile it with: intendant brief compile ${id}`,
    compiled: runStep(brief),
  }
  return steps[state] ?? ''
}

/** A brief runs only if exactly this text was approved with the records as they are now. */
function againStep({ id, lapsed, throttle, approvals }: Document): string {
  if (lapsed.code !== 'reapproval_required') return `Archive it with: intendant brief archive ${id}`
  const wanted = approvals.at(-1)?.throttle ?? throttle
  return `Approve it again with: intendant brief approve ${id} --throttle ${wanted}`
}

function runStep({ id, project, digest, engine_controls: controls, throttle, approvals = [] }: Document): string {
  const approval = approvals.findLast((one: Document) => one.digest === digest)
  return (
    `Run it with: intendant run-request create --project ${project} ` +
    `--entry-event ${controls?.entry_event ?? 'execution_requested'} ` +
    `--throttle ${approval?.throttle ?? throttle} --brief ${id} --brief-digest ${digest}`
  )
}

function section(print: Printer, title: string, lines: readonly string[] = []): void {
  print.section(title, lines.map(safe))
}

/** Records, or whatever else it refers to, for which no prompt has the text. */
function intentOf(mission: Document, isOne: (ref: string) => boolean, keys: ReadonlyMap<string, string>): string[] {
  return INTENT_KINDS.flatMap((kind) =>
    (mission[`${kind}_intent_refs`] ?? []).filter(isOne).map((ref: string) => `${kind}: ${keys.get(ref) ?? ref}`),
  )
}

/** The ids of the records that it names as its intent or as protected. */
export function recordIdsOf({ mission, protected_capabilities: kept = [] }: Document): readonly string[] {
  const refs: string[] = INTENT_KINDS.flatMap((kind) => mission[`${kind}_intent_refs`] ?? [])
  for (const { id = '' } of kept) refs.push(id)
  return [...new Set(refs)].filter((ref) => isId('ir', ref))
}

function approval({ throttle, digest, revision, by, at }: Document): string {
  const where = revision === undefined ? 'any revision' : `revision ${revision}`
  return `${throttle} of ${digest.slice(0, DIGEST_SHOWN)}, ${where}, at ${at}${person(by)}`
}

function run({ run_request_id, state, throttle, reason, observations, changed_at }: Document): string {
  const why = reason === undefined ? '' : `: ${reason}`
  const seen = observations === 0 ? '' : `, ${counted(observations, 'observation')}`
  return `${run_request_id} (${throttle}) ${state} at ${changed_at}${why}${seen}`
}

function person(by: Document | undefined): string {
  return by === undefined ? '' : ` by ${safe(by.name)}`
}
