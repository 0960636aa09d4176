/** Who calls: what a bearer token stands for now, as the rest of the service sees it and as the tables keep it. */
import type { By } from '../../machines/machine.ts'
import type { Right } from './rights.ts'

/** What a token stands for now: one object for the token's whole life, whose fields follow its actor. */
export interface Principal {
  /** `token`: of a person or a program. `runner`: a runner's own. `run`: of one attempt of a run request. */
  readonly kind: 'token' | 'runner' | 'run'
  /** `tok_...`, the runner's id, or the run request's. */
  readonly id: string
  readonly name: string
  /** Shown in the envelope of what this principal causes. */
  readonly by: By
  /** Empty for a runner: what it holds decides what it may do. */
  readonly rights: ReadonlySet<Right>
  /** Keys of the projects that it may see, or all. */
  readonly projects: '*' | ReadonlySet<string>
  /** The runner whose token this is. */
  readonly runnerId?: string
  /** For a run's token. */
  readonly run?: { readonly attempt: number; readonly runnerId: string }
  /** Milliseconds since the epoch. */
  readonly expiresAtMs: number | undefined
  readonly revoked: boolean
}

/** The principal as seen from outside, open for writing. */
export interface Entry extends Principal {
  name: string
  by: By
  rights: ReadonlySet<Right>
  projects: '*' | ReadonlySet<string>
  expiresAtMs: number | undefined
  revoked: boolean
  used: boolean
  /** Since the service started. */
  everUsed: boolean
  callbacks: Set<() => void> | undefined
  timer: unknown
}

/** A valid entry that nobody has used yet. */
export function newEntry(stated: Omit<Principal, 'revoked'>): Entry {
  return { ...stated, revoked: false, used: false, everUsed: false, callbacks: undefined, timer: undefined }
}
