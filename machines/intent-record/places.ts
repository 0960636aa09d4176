/** Where an intent record applies: files and folders of the repository, however they are written. */
import type { Fault } from '../schema.ts'
import type { RecordContent } from './context.ts'

/** Normalizes `./src//auth/` and `lib/../src/auth` to `src/auth`. Undefined if the path leads out of the repository. */
export function placeOf(path: string): string | undefined {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.length === 0 ? '.' : parts.join('/')
}

/** Without paths, the whole repository (`.`). Paths out of it, which earlier builds accepted, are ignored. */
export function placesOf({ scope }: Pick<RecordContent, 'scope'>): ReadonlySet<string> {
  const paths = scope?.paths ?? []
  if (paths.length === 0) return new Set(['.'])
  return new Set(paths.map(placeOf).filter((place) => place !== undefined))
}

/** The path itself and every folder above it, ending with the root. */
export function placesAround(place: string): string[] {
  if (place === '.') return ['.']
  const parts = place.split('/')
  return [...parts.map((_, index) => parts.slice(0, parts.length - index).join('/')), '.']
}

/** Faults for paths that lead out of the repository; `pointer` names the scope. */
export function pathFaults(scope: RecordContent['scope'] | null, pointer: string): Fault[] {
  return (scope?.paths ?? []).flatMap((path, index) =>
    placeOf(path) === undefined ? [{ pointer: `${pointer}/paths/${index}`, detail: LEADS_OUT }] : [],
  )
}

export const LEADS_OUT = 'must not lead out of the repository'
