/** Who uses the console, and what every part of it reaches through the context: the API, the stream, the project. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Right } from '../machines/rights.ts'
import type { Api } from './api.ts'
import type { Document } from './document.ts'
import type { Live } from './live.ts'
import { hrefIn } from './place.ts'
import type { Filter } from './recorded.ts'

export interface Session {
  readonly api: Api
  readonly live: Live
  /** Opens a stream of its own for what the filter admits, from where `live` is. */
  readonly streamOf: (filter: Filter) => Live
  /** Tells it to those who hear the page: what they cannot see has happened. */
  readonly say: (text: string) => void
  /** What the token may do; undefined until the service has told. */
  readonly rights: ReadonlySet<Right> | undefined
  /** Key of the project to which the lists are narrowed, from the address; undefined: all. */
  readonly project: string | undefined
  /** Projects that the token may see. */
  readonly projects: readonly Document[]
}

export const SessionContext = createContext<Session | undefined>(undefined)

export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('there is no session above this part')
  return session
}

/** Opens pages of the console, in the project that is chosen. */
export function useGo(): (href: string) => void {
  const { project } = useSession()
  return (href) => {
    location.hash = hrefIn(project, href)
  }
}

/** The tab keeps the token until it is closed: a reload does not sign out; no other tab gets it but a duplicate. */
const KEY = 'intendant.token'

export function keptToken(): string | undefined {
  return sessionStorage.getItem(KEY) ?? undefined
}

export function keepToken(token: string | undefined): void {
  if (token === undefined) sessionStorage.removeItem(KEY)
  else sessionStorage.setItem(KEY, token)
}
