/**
 * Ingestion of one trace: split as it arrives, admitted event by event, committed batch by batch. While a batch commits
 * the socket is paused, so that memory holds one batch and one chunk, however long the trace is. What is committed
 * stays, whatever happens to the rest: sending the same trace again completes it.
 */
import type { PreparedEvent } from '../../machines/events/envelope.ts'
import { projectIdOf } from '../../machines/ids.ts'
import type { By } from '../../machines/machine.ts'
import type { ProjectBody } from '../../machines/project.ts'
import type { Answer, Refused, Runtime } from '../../runtime/api.ts'
import type { Waiting } from '../bodies/body-turns.ts'
import type { Element, Elements } from '../bodies/elements.ts'
import { readJson } from '../bodies/json-text.ts'
import type { Upload, UploadSink } from '../bodies/upload.ts'
import type { FieldProblem } from '../problems.ts'
import { admitTraceEvent, type TolerantRules } from './tolerant-admission.ts'

/**
 * Elements and bytes read in one turn, whichever bound is reached first and whether or not the elements are accepted: a
 * few milliseconds of the main thread, and the most that one commit holds.
 */
const TURN_ELEMENTS_MAX = 250
const TURN_BYTES_MAX = 256 * 1024
/** Refused and marked elements listed in the report; the rest are only counted. */
const SHOWN_MAX = 200
/** Faults reported for one element. */
const FAULTS_SHOWN_MAX = 5

/** An element that was refused, or that was recorded with a mark. */
interface Noted {
  /** Its line, or its position in the array, from 1. */
  readonly line: number
  readonly errors: readonly FieldProblem[]
}

interface Counts {
  accepted: number
  duplicates: number
}

export interface IngestReport extends Counts {
  refused_count: number
  readonly refused: Noted[]
  marked_count: number
  readonly marked: Noted[]
}

type How =
  | { readonly how: 'done'; readonly sequence: number }
  /** The rest of the body cannot be parsed. */
  | { readonly how: 'malformed'; readonly detail: string }
  | { readonly how: 'too_large' }
  /** The sender's token no longer admits it. */
  | { readonly how: 'unauthenticated' }
  /** The service takes no writes now. */
  | { readonly how: 'refused'; readonly refused: Refused }
  /** It failed for a reason other than the body. */
  | { readonly how: 'failed'; readonly error: unknown }
  | { readonly how: 'aborted' }

/** How the ingestion ended, and what was recorded until then. */
export type IngestEnd = How & {
  readonly report: IngestReport
  readonly byProject: ReadonlyMap<string, Readonly<Counts>>
}

export interface IngestionOptions {
  readonly runtime: Runtime
  readonly upload: Upload
  readonly elements: Elements
  /** Recorded as the source of the events; marks their ids as not computed here. */
  readonly by: By
  /** Whether the sender is still admitted; asked before each turn, since a trace may take hours to arrive. */
  readonly mayGoOn: () => boolean
  /** Called once for each project in which the trace was recorded, or found. */
  readonly onProject: (project: string) => void
  readonly onEnd: (end: IngestEnd) => void
}

export class Ingestion implements UploadSink, Waiting {
  readonly #options: IngestionOptions
  readonly #report: IngestReport = {
    accepted: 0,
    duplicates: 0,
    refused_count: 0,
    refused: [],
    marked_count: 0,
    marked: [],
  }
  readonly #byProject = new Map<string, Counts>()
  readonly #batch = new Map<string, PreparedEvent[]>()
  #batchEvents = 0
  /** Elements and bytes read in this turn, and in turns before it that ended because no more bytes had arrived. */
  #readElements = 0
  #readBytes = 0
  /** Rules for admitting the events; undefined until `begin`. */
  #rules: TolerantRules | undefined
  /** Chunks that arrived before `begin`, or while a batch was committing. */
  #waiting: Buffer[] = []
  #isWhole = false
  /** The reader is queued for a turn. */
  #stands = false
  #committing = 0
  #sequence = 0
  #isOver = false
  /** How it ends once the current batch is committed. */
  #broken: How | undefined

  /** Must be called within uWebSockets.js's handler. Nothing is read before `begin`. */
  constructor(options: IngestionOptions) {
    this.#options = options
    options.upload.receive(this)
    options.upload.pause()
  }

  begin(rules: TolerantRules): void {
    this.#rules = rules
    this.#readOn()
  }

  chunk(bytes: Buffer): void {
    this.#waiting.push(bytes)
    this.#readOn()
  }

  end(): void {
    this.#isWhole = true
    this.#readOn()
  }

  /** A batch being committed is still counted before the end; what was not read yet is dropped. */
  broken(why: 'too_large' | 'aborted'): void {
    this.#waiting = []
    if (this.#committing === 0) this.#over({ how: why })
    else this.#broken = { how: why }
  }

  #readOn(): void {
    if (this.#rules === undefined || this.#committing > 0 || this.#stands || this.#isOver) return
    const { upload } = this.#options
    this.#stands = true
    upload.stand(this)
    // What arrives meanwhile stays in the kernel's buffer.
    if (this.#stands) upload.pause()
  }

  /** An error in here ends only this trace, and its client is told. */
  takeTurn(): void {
    this.#stands = false
    try {
      if (this.#options.mayGoOn()) this.#pump(this.#rules!)
      else this.#over({ how: 'unauthenticated' })
    } catch (error) {
      this.#over({ how: 'failed', error })
    }
  }

  /** Reads until the turn is used up or nothing is left to read. */
  #pump(rules: TolerantRules): void {
    const { elements, upload } = this.#options
    while (!this.#isOver) {
      const element = elements.next()
      if (element !== undefined) {
        this.#take(element, rules)
        this.#readElements++
        this.#readBytes += element.bytes?.length ?? 0
        if (this.#readElements < TURN_ELEMENTS_MAX && this.#readBytes < TURN_BYTES_MAX) continue
        this.#endTurn()
        return
      }
      if (elements.fault !== undefined) {
        this.#stopAt(elements.fault)
        return
      }
      const next = this.#waiting.shift()
      if (next !== undefined) {
        elements.push(next)
        continue
      }
      if (this.#isWhole) this.#close(rules)
      else upload.resume()
      return
    }
  }

  /** Commits what was read; if all of it was refused, queues for another turn. */
  #endTurn(): void {
    this.#readElements = 0
    this.#readBytes = 0
    if (this.#batchEvents > 0) this.#commit()
    else this.#readOn()
  }

  /** Ends the ingestion once everything has arrived and is read. */
  #close(rules: TolerantRules): void {
    const { elements } = this.#options
    const last = elements.end()
    if (last !== undefined) this.#take(last, rules)
    if (elements.fault !== undefined) this.#stopAt(elements.fault)
    else if (this.#batchEvents > 0) this.#commit()
    else this.#done()
  }

  #stopAt(detail: string): void {
    if (this.#batchEvents > 0) this.#commit(() => this.#over({ how: 'malformed', detail }))
    else this.#over({ how: 'malformed', detail })
  }

  #done(): void {
    this.#over({ how: 'done', sequence: this.#sequence })
  }

  #take({ number: line, bytes }: Element, rules: TolerantRules): void {
    if (bytes === undefined) {
      this.#note('refused', { line, errors: [{ pointer: '', detail: 'exceeds the maximum size of an event' }] })
      return
    }
    const read = readJson(bytes, 'line')
    if (!read.ok) {
      this.#note('refused', { line, errors: read.errors ?? [{ pointer: '', detail: read.detail }] })
      return
    }
    const admission = admitTraceEvent(read.value, rules)
    if (!admission.ok) {
      this.#note('refused', { line, errors: admission.errors })
      return
    }
    const { event, marks } = admission
    if (marks.length > 0) this.#note('marked', { line, errors: marks.map(inPayload) })
    const events = this.#batch.get(event.project)
    if (events === undefined) this.#batch.set(event.project, [event])
    else events.push(event)
    this.#batchEvents++
  }

  #note(list: 'refused' | 'marked', { line, errors }: Noted): void {
    const report = this.#report
    report[`${list}_count`]++
    if (report[list].length < SHOWN_MAX) report[list].push({ line, errors: errors.slice(0, FAULTS_SHOWN_MAX) })
  }

  /** Sends each project its events; once all have recorded them, goes on with `andThen`. */
  #commit(andThen: () => void = () => this.#readOn()): void {
    const { runtime, upload, by } = this.#options
    upload.pause()
    const batch = [...this.#batch]
    this.#batch.clear()
    this.#batchEvents = 0
    this.#committing = batch.length
    for (const [project, events] of batch) {
      const message: ProjectBody = { type: 'record', by, events }
      runtime.ask({ kind: 'project', id: projectIdOf(project) }, message, (answer) => {
        this.#committing--
        this.#recorded(project, answer)
        if (this.#committing > 0 || this.#isOver) return
        if (this.#broken === undefined) andThen()
        else this.#over(this.#broken)
      })
    }
  }

  #recorded(project: string, answer: Answer): void {
    if (!answer.ok) {
      this.#broken ??= { how: 'refused', refused: answer }
      return
    }
    let own = this.#byProject.get(project)
    if (own === undefined) {
      own = { accepted: 0, duplicates: 0 }
      this.#byProject.set(project, own)
      this.#options.onProject(project)
    }
    for (const counts of [this.#report, own]) {
      counts.accepted += answer.accepted
      counts.duplicates += answer.duplicates
    }
    this.#sequence = Math.max(this.#sequence, answer.sequence)
  }

  #over(how: How): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#waiting = []
    this.#options.upload.finish()
    this.#options.onEnd({ ...how, report: this.#report, byProject: this.#byProject })
  }
}

function inPayload({ pointer, detail }: FieldProblem): FieldProblem {
  return { pointer: `/payload${pointer}`, detail }
}
