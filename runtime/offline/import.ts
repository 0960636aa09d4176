/**
 * Imports events from files into the log, as history: a valid envelope is enough, the given id is kept, nothing is
 * driven and no entity is restored. Committed in batches; repeating an import completes it.
 */
import { SYSTEM_PROJECT } from '../../machines/envelope.ts'
import { ingestedEventSchema, type PreparedEvent, prepareEvent } from '../../machines/events/envelope.ts'
import { isId, projectIdOf } from '../../machines/ids.ts'
import type { By } from '../../machines/machine.ts'
import type { ProjectBody } from '../../machines/project.ts'
import { compile } from '../../machines/schema.ts'
import { readEvents } from '../../storage/copies/import.ts'
import type { Runtime } from '../api.ts'

/** The recorder of imported events. No token has this id, and a runner of this id has another name. */
const IMPORTER = { id: 'import', name: 'intendant import' }

/** The event is history of another log: its id may be another engine's, and it asserts nothing about this home. */
export function isImported({ by }: { readonly by?: { readonly id: string; readonly name: string } }): boolean {
  return by?.id === IMPORTER.id && by.name === IMPORTER.name
}

const BATCH_EVENTS = 1_000
const BATCH_CHARS = 4 * 1024 * 1024
/** Refused lines beyond these are only counted. */
const REFUSED_SHOWN_MAX = 1_000

interface ImportReport {
  accepted: number
  duplicates: number
  /** Events of the service itself (project `system`): history of their own home, not imported into another. */
  left_out: number
  refused_count: number
  readonly refused: { file: string; line: number; offset: number; reason: string }[]
}

interface Entry {
  readonly event: PreparedEvent
  readonly line: number
  readonly offset: number
}

/** Imports the files one after the other. Rejects if one of them cannot be read. */
export async function importEvents(runtime: Runtime, files: readonly string[], origin: string): Promise<ImportReport> {
  const report: ImportReport = { accepted: 0, duplicates: 0, left_out: 0, refused_count: 0, refused: [] }
  for (const file of files) await importFile(runtime, file, { ...IMPORTER, origin }, report)
  return report
}

async function importFile(runtime: Runtime, file: string, by: By, report: ImportReport): Promise<void> {
  const check = compile(ingestedEventSchema)
  const waiting = new Map<string, Entry[]>()
  let waitingChars = 0
  const refuse = (line: number, offset: number, reason: string): void => {
    report.refused_count += 1
    if (report.refused.length < REFUSED_SHOWN_MAX) report.refused.push({ file, line, offset, reason })
  }
  const flush = async (project: string): Promise<void> => {
    const entries = waiting.get(project) ?? []
    waiting.delete(project)
    if (entries.length === 0) return
    const events = entries.map(({ event }) => event)
    const message: ProjectBody = { type: 'record', events, by }
    const answer = await runtime.askAsync({ kind: 'project', id: projectIdOf(project) }, message)
    if (answer.ok) {
      report.accepted += answer.accepted
      report.duplicates += answer.duplicates
    } else {
      const reason = refusalOf(project, answer.refusal)
      for (const { line, offset } of entries) refuse(line, offset, reason)
    }
  }
  for await (const read of readEvents(file)) {
    if (!read.ok) {
      refuse(read.line, read.offset, read.reason)
      continue
    }
    const { event, line, offset } = read
    const [fault] = check(event)
    if (fault !== undefined) {
      refuse(line, offset, `${fault.pointer} ${fault.detail}`)
      continue
    }
    // No project records these: tokens, lanes and initiatives belong to the home they were in.
    if (event.project === SYSTEM_PROJECT) {
      report.left_out += 1
      continue
    }
    const prepared = prepareEvent(
      event as unknown as Parameters<typeof prepareEvent>[0],
      event.id as string | undefined,
    )
    // The run request that the event belongs to is kept beside its payload and is no part of its identity.
    const { run_request_id } = event
    const isOfRequest = typeof run_request_id === 'string' && isId('runreq', run_request_id)
    const entries = waiting.get(prepared.project) ?? []
    waiting.set(prepared.project, entries)
    entries.push({ event: isOfRequest ? { ...prepared, run_request_id } : prepared, line, offset })
    waitingChars += prepared.payloadText.length
    if (entries.length >= BATCH_EVENTS) await flush(prepared.project)
    if (waitingChars < BATCH_CHARS) continue
    waitingChars = 0
    for (const project of [...waiting.keys()]) await flush(project)
  }
  for (const project of [...waiting.keys()]) await flush(project)
}

/** A project's id derives from its key, so the same import completes once the project is added. */
function refusalOf(project: string, { code, detail }: { readonly code: string; readonly detail: string }): string {
  if (code !== 'not_found') return `project ${project}: ${detail}`
  return `There is no project ${project} here. Add it (intendant project add --key ${project} --name NAME), then import again.`
}
