/**
 * Records in a backup how long its files are, and its outcome. The newest file of a log may rightly end anywhere, so
 * nothing else would show that a copy of it was truncated.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { BackupOutcome } from '../environments.ts'
import { flushFile } from '../files/flush.ts'
import { FILE_MODE } from '../files/modes.ts'
import { bytesOf, environmentPaths } from '../home/home-paths.ts'
import { HomeRefused } from '../home/home-refused.ts'
import { guardForReading, type ReadGuard } from '../home/instance-lock.ts'

const MANIFEST = 'backup.json'

interface Sizes {
  readonly log_bytes: number
  readonly view_bytes: number
}

/** Backups of earlier versions record only their sizes. */
type Manifest = Sizes & Partial<BackupOutcome>

function present(directory: string): Sizes {
  const { log, view } = environmentPaths(directory)
  return { log_bytes: bytesOf(log), view_bytes: bytesOf(view) }
}

/** Call when all files are there. The manifest is on disk when this returns. Returns the files' size, bytes. */
export function writeManifest(directory: string, outcome: BackupOutcome): number {
  const manifest = { ...present(directory), ...outcome }
  const path = join(directory, MANIFEST)
  writeFileSync(path, `${JSON.stringify(manifest)}\n`, { mode: FILE_MODE })
  flushFile(path)
  return manifest.log_bytes + manifest.view_bytes
}

/** True for a backup. A home has no manifest and may be in service; a copy that never became whole has none either. */
export function hasManifest(directory: string): boolean {
  return existsSync(join(directory, MANIFEST))
}

/**
 * The outcome of a backup, and its size in bytes. Undefined if there is no manifest, or if it does not record the
 * outcome. Throws HomeRefused `corrupt` if the manifest is not JSON, or whatever error reading it failed with.
 */
export function outcomeIn(directory: string): (BackupOutcome & { readonly bytes: number }) | undefined {
  if (!hasManifest(directory)) return undefined
  const { log_bytes, view_bytes, ...outcome } = manifestIn(join(directory, MANIFEST))
  const { sequence, faults } = outcome
  if (sequence === undefined || faults === undefined) return undefined
  return { ...outcome, sequence, faults, bytes: log_bytes + view_bytes }
}

/**
 * Keeps `directory` unwritten while it is read. Undefined for a backup, which nobody writes. Throws HomeRefused
 * `locked` if a service is running on it.
 */
export async function lockAgainstWriters(directory: string): Promise<ReadGuard | undefined> {
  return hasManifest(directory) ? undefined : guardForReading(directory)
}

function manifestIn(path: string): Manifest {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Manifest
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw new HomeRefused('corrupt', `${path} is not JSON: put it back, or restore a backup`, { cause: error })
  }
}

/**
 * Throws HomeRefused if the files have another length than the manifest says. Homes, and backups of earlier versions,
 * have no manifest and pass.
 */
export function assertManifest(directory: string): void {
  if (!hasManifest(directory)) return
  const made = manifestIn(join(directory, MANIFEST))
  const found = present(directory)
  for (const part of ['log', 'view'] as const) {
    const [then, now] = [made[`${part}_bytes`], found[`${part}_bytes`]]
    if (then === now) continue
    const what = now < then ? 'is truncated' : 'was changed'
    throw new HomeRefused(
      'corrupt',
      `${join(directory, part)} ${what}: it has ${now} of ${then} bytes; put it back, or restore a backup`,
    )
  }
}
