/**
 * What the engines of each project can do, according to their newest manifests: asked before a run is made, and by the
 * dispatcher for each runner. In memory only, derived from committed steps. Invariants: a manifest that names a runner
 * restricts that runner alone; one that names none says what the project takes, for the runners without a manifest of
 * their own; without a manifest there is no restriction. A manifest does not count if its runner is gone or may no
 * longer work for the project. If a manifest makes no sense, the previous one stands.
 */
import type { EngineCapabilityContext } from '../../machines/engine-capability.ts'
import type { Throttle } from '../../machines/machine.ts'
import type { RunnerContext } from '../../machines/runner/context.ts'
import { worksFor } from '../../machines/runner/projects.ts'
import type { ActorRef, CommittedStep, Runtime, SnapshotOf } from '../api.ts'
import { committed } from '../control/committed.ts'
import type { Health } from '../control/guard.ts'
import { Retries } from '../control/retries.ts'
import type { Dispatcher } from '../dispatch/api.ts'
import type { Logger } from '../log.ts'
import { readable } from '../reader.ts'

/** The part of a manifest that is asked for, so that no one who asks meets a malformed manifest. */
interface Served {
  readonly runnerId: string | undefined
  readonly engine: string
  readonly events: ReadonlySet<string>
  readonly modes: ReadonlySet<string>
}

/** What is to be run; `entryEvent` may not be known yet. */
interface AskedOfEngine {
  readonly project: string
  readonly entryEvent?: string | undefined
  readonly throttle: Throttle
  /** The only runner that may take it. */
  readonly runnerId?: string | undefined
}

type Asked = Pick<Dispatcher, 'setCapable' | 'hasRunnerFor'>

export class Capabilities {
  private readonly runtime: Runtime
  private readonly dispatcher: Asked
  /** By project, then by whom the manifest speaks for. */
  private readonly byProject = new Map<string, Map<string, Served>>()
  /** How many of them name a runner: while none does, the dispatcher need not ask. */
  private naming = 0
  private readonly tries: Retries

  constructor(runtime: Runtime, dispatcher: Asked, log: Logger) {
    this.runtime = runtime
    this.dispatcher = dispatcher
    this.tries = new Retries({
      platform: runtime.platform,
      log,
      name: 'capabilities',
      reread: (ref) => this.reread(ref),
    })
    for (const { ref, snapshot } of runtime.scan('engine_capability', 'all', ''))
      this.tries.guard.guarded(ref, () => this.put(snapshot.context))
    if (this.naming > 0) this.tellDispatcher()
    runtime.onCommit((steps) => this.onCommit(steps))
  }

  get health(): Health {
    return this.tries.guard.health
  }

  close(): void {
    this.tries.close()
  }

  /** Why no engine of the project can serve this, in a sentence; undefined if one can or nothing is known. */
  incapable(asked: AskedOfEngine): string | undefined {
    const manifests = this.byProject.get(asked.project)
    if (manifests === undefined) return undefined
    const { project, entryEvent, throttle, runnerId } = asked
    const work = `${entryEvent ?? 'work'} at throttle ${throttle}`
    const own = runnerId === undefined ? undefined : ownOf(manifests, runnerId)
    if (own !== undefined && this.counts(own, project)) {
      return serves(own, asked) ? undefined : `The manifest of runner ${runnerId} does not support ${work}.`
    }
    // For work pinned to one runner, the manifests of other runners say nothing.
    const speaks = (one: Served): boolean => runnerId === undefined || one.runnerId === undefined
    for (const one of manifests.values())
      if (serves(one, asked) && speaks(one) && this.counts(one, project)) return undefined
    const counting = [...manifests.values()].filter((one) => speaks(one) && this.counts(one, project))
    if (counting.length === 0 || (counting.every(namesRunner) && this.hasUnsaid(project, manifests))) return undefined
    const engines = [...new Set(counting.map(({ engine }) => engine))].sort()
    return `No manifest of the project supports ${work}; there are manifests of ${engines.join(', ')}.`
  }

  /** Whether a runner of the project has no manifest of its own: it is given whatever the project takes. */
  private hasUnsaid(project: string, manifests: ReadonlyMap<string, Served>): boolean {
    return this.dispatcher.hasRunnerFor(project, (runnerId) => ownOf(manifests, runnerId) === undefined)
  }

  /** Whether the manifest still counts. */
  isCurrent({ project, manifest }: EngineCapabilityContext): boolean {
    const known = this.byProject.get(project)?.get(keyOf(manifest))
    return known !== undefined && this.counts(known, project)
  }

  /** Whether its runner may still work for the project. Checked at each use, since that may change back and forth. */
  private counts({ runnerId }: Served, project: string): boolean {
    if (runnerId === undefined) return true
    const runner = this.runner(runnerId)
    return runner === undefined || worksFor(runner, project)
  }

  private onCommit(steps: readonly CommittedStep[]): void {
    let isNews = false
    for (const { ref, after } of steps) {
      if (ref.kind !== 'engine_capability' && ref.kind !== 'runner') continue
      if (this.tries.guard.guarded(ref, () => this.note(ref, after)) === true) isNews = true
    }
    if (isNews) this.tellDispatcher()
  }

  private reread(ref: ActorRef): void {
    const snapshot = committed(this.runtime, ref)
    if (snapshot !== undefined && this.note(ref, snapshot)) this.tellDispatcher()
  }

  /** Returns whether anything changed. */
  private note({ kind, id }: ActorRef, { value, context }: SnapshotOf<any>): boolean {
    if (kind === 'runner') return value === 'removed' && this.drop(id)
    if (value === 'removed') this.takeBack(context)
    else this.put(context)
    return true
  }

  private takeBack({ project, manifest }: EngineCapabilityContext): void {
    const manifests = this.byProject.get(project)
    if (manifests?.delete(keyOf(manifest)) !== true) return
    if (manifest.runner_id !== undefined) this.naming--
    if (manifests.size === 0) this.byProject.delete(project)
  }

  private put({ project, manifest }: EngineCapabilityContext): void {
    const served = servedBy(manifest)
    if (manifest.runner_id !== undefined && this.runner(manifest.runner_id)?.value === 'removed') return
    let manifests = this.byProject.get(project)
    if (manifests === undefined) {
      manifests = new Map()
      this.byProject.set(project, manifests)
    }
    const key = keyOf(manifest)
    if (manifest.runner_id !== undefined && !manifests.has(key)) this.naming++
    manifests.set(key, served)
  }

  private runner(id: string): SnapshotOf<RunnerContext> | undefined {
    return readable(() => this.runtime.read({ kind: 'runner', id }))
  }

  /** The runner is gone: drops its manifests. */
  private drop(runnerId: string): boolean {
    const before = this.naming
    for (const [project, manifests] of this.byProject) {
      if (!manifests.delete(keyOf({ runner_id: runnerId }))) continue
      this.naming--
      if (manifests.size === 0) this.byProject.delete(project)
    }
    return this.naming < before
  }

  /** Has the dispatcher look at parked polls again, since a request may fit a runner now that did not before. */
  private tellDispatcher(): void {
    const { byProject } = this
    if (this.naming === 0) {
      this.dispatcher.setCapable(undefined)
      return
    }
    this.dispatcher.setCapable((runnerId, asked) => {
      const own = ownOf(byProject.get(asked.project), runnerId)
      return own === undefined || serves(own, asked)
    })
  }
}

/** The runner's own manifest. */
function ownOf(manifests: ReadonlyMap<string, Served> | undefined, runnerId: string): Served | undefined {
  return manifests?.get(keyOf({ runner_id: runnerId }))
}

function namesRunner({ runnerId }: Served): boolean {
  return runnerId !== undefined
}

function servedBy({
  runner_id: runnerId,
  engine,
  supported_entry_events,
  supported_throttle_modes,
}: EngineCapabilityContext['manifest']): Served {
  return {
    runnerId,
    engine,
    events: new Set([...supported_entry_events]),
    modes: new Set([...supported_throttle_modes]),
  }
}

function serves({ events, modes }: Served, { entryEvent, throttle }: Omit<AskedOfEngine, 'project'>): boolean {
  return modes.has(throttle) && (entryEvent === undefined || events.has(entryEvent) || events.has('*'))
}

/** Whom the manifest speaks for. A runner's id contains no colon. */
export function keyOf({ runner_id, engine = '' }: { readonly runner_id?: string; readonly engine?: string }): string {
  return runner_id === undefined ? `engine:${engine}` : `runner:${runner_id}`
}
