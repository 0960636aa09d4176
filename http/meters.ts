/** Metrics whose values are read from the parts of the service when somebody scrapes them. */
import { Counter, Gauge, type Registry } from 'prom-client'
import type { ActorKind, Runtime } from '../runtime/api.ts'
import type { QueuedOfProject } from '../runtime/dispatch/queue.ts'

type Told = readonly [name: string, help: string]

/** How many entities of a kind are in each of its states. */
export function inStates(
  registry: Registry,
  { journal }: Pick<Runtime, 'journal'>,
  kind: ActorKind,
  states: readonly string[],
  [name, help]: Told,
): void {
  new Gauge({
    name,
    help,
    labelNames: ['state'],
    registers: [registry],
    collect() {
      for (const state of states) this.set({ state }, journal.count(kind, 'state', state))
    },
  })
}

/** The backlog of each project that has one. */
export function backlog(
  registry: Registry,
  read: () => readonly QueuedOfProject[],
  { count: [name, help], age: [ageName, ageHelp] }: { readonly count: Told; readonly age: Told },
): void {
  const labelNames = ['project'] as const
  new Gauge({
    name,
    help,
    labelNames,
    registers: [registry],
    collect() {
      this.reset()
      ages.reset()
      // One walk over everything that waits sets both gauges.
      for (const { project, count, oldestAgeMs } of read()) {
        this.set({ project }, count)
        ages.set({ project }, oldestAgeMs / 1_000)
      }
    },
  })
  const ages = new Gauge({ name: ageName, help: ageHelp, labelNames, registers: [registry] })
}

export function counter(registry: Registry, name: string, help: string, read: () => number): void {
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset()
      this.inc(read())
    },
  })
}

export function gauge(registry: Registry, name: string, help: string, read: () => number): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read())
    },
  })
}
