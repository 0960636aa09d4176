/** A home that is filled further from size to size, with a service started on it in between. */
import { Child } from '../child.ts'
import { bytesUnder } from '../filled-home.ts'
import type { Filled, FillJob } from '../filler.ts'
import type { Context } from '../question.ts'
import { type RunnerAccess, Service } from '../service.ts'
import type { Sample, Setup } from './costs.ts'

const PROJECT = 'bench'
const RUNNERS = 16
/** Entities remembered from each filling, to be read later. */
const SAMPLES = 500

export interface Growth {
  /** What grows: completed requests or queued ones. */
  readonly of: 'completed' | 'queued'
  /** Events per completed request. */
  readonly eventsEach: number
}

export class GrowingHome {
  readonly #context: Context
  readonly #home: string
  readonly #growth: Growth
  readonly #runners: readonly RunnerAccess[]
  readonly #completed: string
  readonly #queued: string
  #samples: readonly Sample[] = []
  #entities = 0

  private constructor(
    context: Context,
    home: string,
    growth: Growth,
    runners: readonly RunnerAccess[],
    completed: string,
    queued: string,
  ) {
    this.#context = context
    this.#home = home
    this.#growth = growth
    this.#runners = runners
    this.#completed = completed
    this.#queued = queued
  }

  /** Creates a project, its runners, a completed run and, if queued copies are wanted, a queued one. */
  static async make(context: Context, growth: Growth): Promise<GrowingHome> {
    const home = context.scratch.home()
    const service = await Service.start(home)
    try {
      await service.createProject(PROJECT)
      const runners = await service.createRunners('runner', RUNNERS)
      const [run] = await service.startRuns(PROJECT, runners, 1)
      await service.finishRun(run!)
      const queued = growth.of === 'queued' ? await service.createRunRequest(PROJECT) : run!.id
      return new GrowingHome(context, home, growth, runners, run!.id, queued)
    } finally {
      await service.stop()
    }
  }

  /** Whether growing to this size would leave half of the free disk space free, judged by what is stored already. */
  hasRoomFor(entities: number): boolean {
    if (this.#entities === 0) return true
    const more = (this.diskBytes() / this.#entities) * (entities - this.#entities)
    return more < this.#context.scratch.freeBytes() / 2
  }

  /** Call when no service runs on it any more. */
  remove(): void {
    this.#context.scratch.remove(this.#home)
  }

  async growTo(entities: number): Promise<void> {
    const from = performance.now()
    const filler = new Child('./filler.js')
    const { of, eventsEach } = this.#growth
    const more = entities - this.#entities
    const job: FillJob = {
      home: this.#home,
      completed: this.#completed,
      queued: this.#queued,
      completedCount: of === 'completed' ? more : 0,
      queuedCount: of === 'queued' ? more : 0,
      eventsEach,
      samples: SAMPLES,
    }
    const { samples } = await filler.ask<Filled>('fill', job)
    await filler.stop()
    // As many old ones as new ones, so that reads are spread over the store.
    this.#samples = [...this.#samples.slice(0, SAMPLES), ...samples]
    this.#entities = entities
    this.#context.say(`${entities} entities; filled in ${Math.round((performance.now() - from) / 1000)} s`)
  }

  diskBytes(): number {
    return bytesUnder(this.#home)
  }

  async setup(): Promise<Setup> {
    const service = await Service.start(this.#home)
    return { service, runners: this.#runners, project: PROJECT, samples: this.#samples }
  }
}
