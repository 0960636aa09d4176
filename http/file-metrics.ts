/** Metrics of files: how many are open, how long those of the home are, what is free beside them. */
import { existsSync, readdirSync } from 'node:fs'
import { Gauge, type Registry } from 'prom-client'
import { bytesOf, environmentPaths } from '../storage/home/home-paths.ts'
import type { ServiceContext } from './route.ts'

const OPEN_FILES = 'process_open_fds'

/**
 * prom-client counts open files by opening one, and repeats its last count if that fails. But if it fails for want of
 * one, all are in use.
 */
export function measureOpenFiles(registry: Registry): void {
  const max = registry.getSingleMetric('process_max_fds')
  if (registry.getSingleMetric(OPEN_FILES) === undefined || max === undefined) return
  registry.removeSingleMetric(OPEN_FILES)
  new Gauge({
    name: OPEN_FILES,
    help: 'Open file descriptors.',
    registers: [registry],
    async collect() {
      try {
        // One of them is open only to read the others.
        this.set(readdirSync('/proc/self/fd').length - 1)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'EMFILE') this.set((await max.get()).values[0]!.value)
      }
    },
  })
}

/**
 * The view's file is reused and never shrinks; the log's files come and go. Reports no sizes for a journal in memory.
 */
export function measureStore(registry: Registry, { runtime }: ServiceContext): void {
  const parts = Object.entries(environmentPaths(runtime.settings.home))
  new Gauge({
    name: 'intendant_store_bytes',
    help: 'Size of the files of the home, by part; NaN if they cannot be looked at.',
    labelNames: ['part'],
    registers: [registry],
    collect() {
      for (const [part, path] of parts) if (existsSync(path)) this.set({ part }, sizeOf(path))
    },
  })
  new Gauge({
    name: 'intendant_disk_free_bytes',
    help: 'Free space of the file system of the home; NaN if it does not report it.',
    registers: [registry],
    collect() {
      this.set(runtime.journal.disk?.freeBytes ?? Number.NaN)
    },
  })
}

/** NaN if the files cannot be looked at, as with too many open ones: then all other metrics matter most. */
function sizeOf(path: string): number {
  try {
    return bytesOf(path)
  } catch {
    return Number.NaN
  }
}
