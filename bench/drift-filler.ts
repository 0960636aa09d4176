/**
 * Fills a home with the intent records of a large project, in a process of its own: records that were observed many
 * times, stepped by their own machine, and the events of those observations. Two things are not true to life: the
 * event ids are random, and the engine runs they name do not exist, so `verify` would complain.
 */
import type { Seen } from '../machines/documents/observation.ts'
import { projectIdOf, recordIdOfSlug } from '../machines/ids.ts'
import { intentRecordModule } from '../machines/intent-record.ts'
import type { SnapshotOf } from '../machines/machine.ts'
import { encodeRecord } from '../runtime/record.ts'
import { Stepper } from '../runtime/stepper.ts'
import type { NewEvent, Step } from '../storage/journal.ts'
import { openDiskJournal } from '../storage/open-journal.ts'
import { answerRequests } from './child.ts'
import { hex, room } from './filling.ts'

export interface DriftFillJob {
  readonly home: string
  readonly project: string
  readonly records: number
  readonly observationsEach: number
}

export interface DriftFilled {
  readonly observations: number
  readonly statuses: Readonly<Record<string, number>>
  /** Average size of a stored record, bytes. */
  readonly recordBytes: number
}

const EVENTS_PER_COMMIT_MAX = 2_000
const DISK_RESERVE_BYTES = 1024 * 1024 * 1024
const DAY_MS = 86_400_000
/** A record's observations are spread over this time before now. */
const SPREAD_MS = 20 * DAY_MS
const EVIDENCE = 4

/** The drift status in which the record of this number ends: most hold, a few get each of the others. */
const ENDS = ['contradicted', 'drifted', 'threatened', 'stale', 'unobserved', 'unobserved'] as const
const EVERY = 20

const words = (about: string): string => `${about} `.repeat(12).trim()

class Filler {
  readonly #stepper = new Stepper(intentRecordModule)
  readonly #job: DriftFillJob
  readonly #nowMs = Date.now()

  constructor(job: DriftFillJob) {
    this.#job = job
  }

  /** A record after all its observations, with their events. */
  step(number: number): { readonly step: Step; readonly status: string } {
    const { project, observationsEach } = this.#job
    const project_id = projectIdOf(project)
    const slug = `record-${number}`
    const id = recordIdOfSlug(project_id, slug)
    const end = ENDS[number % EVERY] ?? 'holding'
    const beginMs = this.#nowMs - SPREAD_MS * (end === 'stale' ? 3 : 1)
    const content = {
      title: `Record ${number} keeps what people rely on`,
      capability: words('People can go on with what they were doing.'),
      threat: words('State that lives in one process.'),
      strategy: words('Keep it where a restart finds it.'),
      scope: { paths: [`src/area-${number % 100}`] },
      evidence: Array.from({ length: EVIDENCE }, (_, n) => ({ description: `check ${n} passes`, required: n < 3 })),
    }
    let snapshot = this.#stepper.initial
    const say = (ms: number, body: object): void => {
      const message = { ...body, at: new Date(ms).toISOString().replace('Z', '000Z'), atMs: ms }
      snapshot = this.#stepper.step(snapshot, message as never, []) ?? snapshot
    }
    say(beginMs - DAY_MS, { type: 'create', id, project, project_id, slug, content })
    say(beginMs - DAY_MS + 1, { type: 'accept' })
    const events: NewEvent[] = []
    for (let n = 0; n < observationsEach && end !== 'unobserved'; n++) {
      const ms = beginMs + Math.floor((n * (SPREAD_MS - DAY_MS)) / observationsEach)
      const observation = this.#observation(id, n, end, n === observationsEach - 1, new Date(ms).toISOString())
      say(ms, { type: 'observe', project, observation })
      events.push(eventOf(project, observation))
    }
    return { step: this.#stored(id, snapshot, observationsEach + 2, events), status: end }
  }

  #observation(id: string, n: number, end: string, isLast: boolean, time: string): Seen {
    const about = { contradicted: 'contradiction', threatened: 'threat' }[end] ?? 'evidence'
    const fails = isLast && ['contradicted', 'drifted', 'threatened'].includes(end)
    return {
      id: `obs_${hex(24)}`,
      ...(fails && about !== 'evidence' ? { about } : { evidence_id: `${id}.e${isLast ? 1 : (n % EVIDENCE) + 1}` }),
      result: fails ? 'fail' : 'pass',
      observed_by: 'engine',
      source_type: 'engine_gate',
      supporting_artifacts: [`trace://${hex(32)}`],
      observed_at: time,
      recorded_at: time,
      engine_run_id: `run_${hex(24)}`,
      run_request_id: `runreq_${hex(24)}`,
    } as Seen
  }

  #stored(id: string, snapshot: SnapshotOf<any>, version: number, events: NewEvent[]): Step {
    const record = { snapshot, version, outboxNumber: 0, timers: {}, seen: {}, isStored: true }
    return {
      kind: 'intent_record',
      id,
      version,
      record: encodeRecord(intentRecordModule, record),
      termsAdded: intentRecordModule.terms(snapshot),
      termsRemoved: [],
      events,
      timersSet: [],
      timersCleared: [],
      outbox: [],
    }
  }
}

function eventOf(project: string, { id: observation_id, ...seen }: Seen): NewEvent {
  const id = `evt_${hex(32)}`
  const traceId = hex(32)
  const text = JSON.stringify({
    event_type: 'evidence_observed',
    id,
    occurred_at: seen.observed_at,
    payload: { observation_id, ...seen },
    project,
    recorded_at: seen.recorded_at,
    throttle: 'dry_run',
    trace_id: traceId,
  })
  return { id, project, traceId, text }
}

async function fill(job: DriftFillJob): Promise<DriftFilled> {
  const onFailure = (failure: Error): void => {
    throw failure
  }
  const journal = await openDiskJournal({ home: job.home, diskReserveBytes: DISK_RESERVE_BYTES, onFailure })
  const filler = new Filler(job)
  const statuses: Record<string, number> = {}
  let observations = 0
  let bytes = 0
  const perCommit = Math.max(1, Math.floor(EVENTS_PER_COMMIT_MAX / job.observationsEach))
  for (let done = 0; done < job.records; ) {
    const steps: Step[] = []
    for (let n = 0; n < perCommit && done < job.records; n++, done++) {
      const { step, status } = filler.step(done)
      statuses[status] = (statuses[status] ?? 0) + 1
      observations += step.events.length
      bytes += step.record.length
      steps.push(step)
    }
    await room(journal)
    journal.append(steps, (failure) => {
      if (failure !== null) throw failure
    })
  }
  await journal.close()
  return { observations, statuses, recordBytes: Math.round(bytes / job.records) }
}

answerRequests({ fill })
