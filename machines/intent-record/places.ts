/** Where an intent record holds: files and folders of the repository, however they are written. */
import type { Fault } from '../schema.ts'
import type { RecordContent } from './context.ts'

/** `./src//auth/`, `src/auth` and `lib/../src/auth` are one place. Undefined: it leads out of the repository. */
export function placeOf(path: string): string | undefined {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part)
    else if (parts.pop() === undefined) return undefined
  }
  return parts.length === 0 ? '.' : parts.join('/')
}

/** Without paths that is the whole of the repository, `.`. What earlier builds took that leads out of it is no place. */
export function placesOf({ scope }: Pick<RecordContent, 'scope'>): ReadonlySet<string> {
  const paths = scope?.paths ?? []
  if (paths.length === 0) return new Set(['.'])
  return new Set(paths.map(placeOf).filter((place) => place !== undefined))
}

/** The path itself and every folder above it, the root last. */
export function placesAround(place: string): string[] {
  if (place === '.') return ['.']
  const parts = place.split('/')
  return [...parts.map((_, index) => parts.slice(0, parts.length - index).join('/')), '.']
}

/** Paths that lead out of the repository; `pointer` names the scope. */
export function pathFaults(scope: RecordContent['scope'] | null, pointer: string): Fault[] {
  return (scope?.paths ?? []).flatMap((path, index) =>
    placeOf(path) === undefined ? [{ pointer: `${pointer}/paths/${index}`, detail: LEADS_OUT }] : [],
  )
}

export const LEADS_OUT = 'must stay within the repository: it leads out of it'
