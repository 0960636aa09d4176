/**
 * Fills a home through the journal, in a process of its own, with copies of one run that a real service took from
 * creation to completion, under fresh ids and at the time of copying, so that index rows are laid out as those of a
 * service. Two things are not true to life: a copy begins and ends at one moment, and its event ids are random, so
 * `verify` would complain.
 */
import { modules } from '../machines/index.ts'
import type { ActorKind, Term } from '../machines/machine.ts'
import { newTraceId } from '../runtime/entities/trace-ids.ts'
import { Clock } from '../runtime/time/clock.ts'
import type { Journal, NewEvent, Step } from '../storage/journal.ts'
import { openDiskJournal } from '../storage/open-journal.ts'
import { systemPlatform } from '../storage/platform.ts'
import { answerRequests } from './child.ts'
import { hex, room } from './filling.ts'

export interface FillJob {
  readonly home: string
  /** Run requests to copy: a completed one and a queued one. */
  readonly completed: string
  readonly queued: string
  readonly completedCount: number
  readonly queuedCount: number
  readonly eventsEach: number
  /** How many of the completed copies the answer names, evenly spread. */
  readonly samples?: number
}

export interface Filled {
  readonly events: number
  readonly samples: readonly { readonly run: string; readonly trace: string; readonly event: string }[]
  /** Text of one event, as it is served. */
  readonly sampleText: string
}

/** Limits of a commit, so that neither it nor the applier's backlog gets long. */
const RUNS_PER_COMMIT_MAX = 100
const EVENTS_PER_COMMIT_MAX = 2_000
/** The filling stops short of the reserve, below which the service would start read-only. */
const DISK_RESERVE_BYTES = 1024 * 1024 * 1024

/** Ids that differ from copy to copy; each is replaced by a fresh one of the same length. */
type Slot = 'run' | 'trace' | 'engineRun' | 'event'
type Ids = Readonly<Record<Slot, string>>
type Filling = Ids & { readonly time: string }

const TIME = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z/

/** A text cut at the ids and times in it. */
class Template {
  readonly #parts: (string | { readonly slot: keyof Filling })[] = []

  constructor(text: string, ids: Partial<Ids>) {
    const slots = new Map(Object.entries(ids).map(([slot, id]) => [id, slot as Slot]))
    for (const part of text.split(new RegExp(`(${[...slots.keys(), TIME.source].join('|')})`))) {
      const slot = slots.get(part) ?? (TIME.test(part) ? 'time' : undefined)
      this.#parts.push(slot === undefined ? part : { slot })
    }
  }

  with(ids: Filling): string {
    let text = ''
    for (const part of this.#parts) text += typeof part === 'string' ? part : ids[part.slot]
    return text
  }
}

interface StepTemplate {
  readonly kind: ActorKind
  readonly slot: Slot
  readonly version: number
  readonly record: Template
  readonly terms: readonly Term[]
}

interface RunTemplate {
  readonly project: string
  readonly steps: readonly StepTemplate[]
  readonly events: readonly Template[]
}

function stepTemplate(journal: Journal, kind: ActorKind, slot: Slot, ids: Ids): StepTemplate {
  const text = journal.actor(kind, ids[slot])
  if (text === undefined) throw new Error(`no ${kind} ${ids[slot]}`)
  const record = JSON.parse(text)
  const terms = modules[kind].terms(record.s)
  return { kind, slot, version: record.v, record: new Template(text, ids), terms }
}

function runTemplate(journal: Journal, runId: string, eventsEach: number): RunTemplate {
  const run = runDocument(journal, runId)
  const ids: Ids = { run: runId, trace: run.trace_id, engineRun: run.engine_run_id ?? 'none', event: 'none' }
  const texts = journal.history('trace', ids.trace, 0, eventsEach).map((sequence) => journal.event(sequence)!)
  const events = texts.map((text) => new Template(text, { ...ids, event: JSON.parse(text).id }))
  while (events.length < eventsEach && run.engine_run_id !== undefined) events.push(events[events.length % 4]!)
  const steps = [stepTemplate(journal, 'run_request', 'run', ids)]
  // An engine run is an actor only if something was reported on it.
  if (journal.actor('engine_run', ids.engineRun) !== undefined)
    steps.push(stepTemplate(journal, 'engine_run', 'engineRun', ids))
  return { project: run.project, steps, events }
}

const clock = new Clock(systemPlatform.wallMs)

/** @returns the ids under which the copy can be found. */
function copy(template: RunTemplate, into: Step[]): Filled['samples'][number] {
  const time = clock.text(clock.nextMicros())
  const ids = { run: `runreq_${hex(24)}`, trace: newTraceId(systemPlatform), engineRun: `run_${hex(24)}`, time }
  const events: NewEvent[] = template.events.map((text) => {
    const event = `evt_${hex(32)}`
    return { id: event, project: template.project, traceId: ids.trace, text: text.with({ ...ids, event }) }
  })
  for (const step of template.steps) {
    into.push({
      kind: step.kind,
      id: ids[step.slot as 'run' | 'engineRun'],
      version: step.version,
      record: step.record.with({ ...ids, event: '' }),
      termsAdded: step.terms.map((term) => (TIME.test(term.order) ? { ...term, order: time } : term)),
      termsRemoved: [],
      events: step.slot === 'run' ? events : [],
      timersSet: [],
      timersCleared: [],
      outbox: [],
    })
  }
  return { run: ids.run, trace: ids.trace, event: events[0]!.id }
}

async function copies(
  journal: Journal,
  template: RunTemplate,
  count: number,
  sampleCount: number,
): Promise<Filled['samples']> {
  const samples: Filled['samples'][number][] = []
  const everyNth = Math.max(1, Math.floor(count / Math.max(1, sampleCount)))
  const runsPerCommit = Math.max(
    1,
    Math.min(RUNS_PER_COMMIT_MAX, Math.floor(EVENTS_PER_COMMIT_MAX / template.events.length)),
  )
  for (let done = 0; done < count; ) {
    await room(journal)
    const steps: Step[] = []
    for (let n = 0; n < runsPerCommit && done < count; n++, done++) {
      const sample = copy(template, steps)
      if (done % everyNth === 0 && samples.length < sampleCount) samples.push(sample)
    }
    journal.append(steps, (failure) => {
      if (failure !== null) throw failure
    })
  }
  return samples
}

async function fill(job: FillJob): Promise<Filled> {
  const journal = await openDiskJournal({
    home: job.home,
    diskReserveBytes: DISK_RESERVE_BYTES,
    onFailure: (failure) => {
      throw failure
    },
  })
  const completed = runTemplate(journal, job.completed, job.eventsEach)
  const sampleText = journal.event(journal.history('trace', runDocument(journal, job.completed).trace_id, 0, 1)[0]!)!
  const samples = await copies(journal, completed, job.completedCount, job.samples ?? 0)
  await copies(journal, runTemplate(journal, job.queued, job.eventsEach), job.queuedCount, 0)
  const events = journal.lastSequence
  await journal.close()
  return { events, sampleText, samples }
}

function runDocument(
  journal: Journal,
  runId: string,
): { readonly project: string; readonly trace_id: string; readonly engine_run_id?: string } {
  const record = JSON.parse(journal.actor('run_request', runId)!)
  return modules.run_request.document(record.s) as ReturnType<typeof runDocument>
}

answerRequests({ fill })
