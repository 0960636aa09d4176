/** The frame: signing in, the navigation, and the page that the address names. */
import type { JSX } from 'preact'
import { useCallback, useEffect, useErrorBoundary, useMemo, useRef, useState } from 'preact/hooks'
import type { Right } from '../machines/rights.ts'
import { Api, LIST_LIMIT_MAX, watching } from './api.ts'
import type { Problem } from './document.ts'
import { interestOf } from './interest.ts'
import { KINDS } from './kinds.ts'
import { type Connection, Live } from './live.ts'
import { EntityPage } from './pages/entity.tsx'
import { EventsPage, TracePage } from './pages/events.tsx'
import { ListPage } from './pages/list.tsx'
import { neededBy, OverviewPage } from './pages/overview.tsx'
import { Link, Loading, ProblemNote, Required } from './parts/basics.tsx'
import { GoTo } from './parts/go-to.tsx'
import { hrefIn, type Place, placeOf } from './place.ts'
import type { Filter } from './recorded.ts'
import { EVERY_MS, problemOf, type Resource, usePlace, useResource } from './resource.ts'
import { keepToken, keptToken, type Session, SessionContext, useSession } from './session.ts'
import { readable, shortOf } from './words.ts'

export function App(): JSX.Element {
  const [token, setToken] = useState(keptToken)
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const change = (next: string | undefined, why?: Problem): void => {
    keepToken(next)
    setToken(next)
    setProblem(why)
  }
  if (token === undefined) return <SignIn problem={problem} onToken={change} />
  // An answer to the token before this one may come late.
  const end = (why?: Problem): void => {
    if (keptToken() === token) change(undefined, why)
  }
  return <SignedIn key={token} token={token} onEnd={end} />
}

function SignIn({ problem, onToken }: { problem: Problem | undefined; onToken: (token: string) => void }): JSX.Element {
  const [refused, setRefused] = useState(problem)
  useEffect(() => {
    document.title = 'Sign in – Intendant'
  }, [])
  async function enter(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const token = String(new FormData(event.currentTarget as HTMLFormElement).get('token')).trim()
    try {
      // What every page needs: a token that may not view anything is refused here, and told why.
      await new Api(token, () => {}).get('api/projects', { limit: 1 })
      onToken(token)
    } catch (error) {
      setRefused(problemOf(error))
    }
  }
  return (
    <main class="sign-in">
      <h1>Intendant</h1>
      <form onSubmit={enter}>
        <div class="field">
          <label for="token">
            Access token <Required />
          </label>
          <small id="token-hint">
            On the service's machine the first one is in admin.token in its home. This tab keeps it until it is closed.
          </small>
          <input id="token" name="token" type="password" required autocomplete="off" aria-describedby="token-hint" />
        </div>
        <button type="submit" class="main">
          Sign in
        </button>
      </form>
      {refused !== undefined && <ProblemNote of={refused} />}
    </main>
  )
}

function SignedIn({ token, onEnd }: { token: string; onEnd: (why?: Problem) => void }): JSX.Element {
  const api = useMemo(() => new Api(token, onEnd), [token])
  const [live, setLive] = useState<Live | undefined>(undefined)
  const said = useRef<HTMLOutputElement>(null)
  const say = useCallback((text: string): void => {
    if (said.current !== null) said.current.textContent = text
  }, [])
  useEffect(() => {
    const made = new Live(watching(token), interestOf(placeOf(location.hash).path[0] ?? ''))
    setLive(made)
    return () => made.close()
  }, [token])
  if (live === undefined) return <Loading />
  const streamOf = (filter: Filter): Live => new Live(watching(token), filter, live.cursor)
  const session = { api, live, streamOf, say, rights: undefined, project: undefined, projects: [] }
  return (
    <SessionContext.Provider value={session}>
      <Frame onEnd={onEnd} />
      <output class="unseen" ref={said} />
    </SessionContext.Provider>
  )
}

const ATTENTION_SHOWN = 100

const PAGES = [
  ['', 'Overview'],
  ['items', 'Work'],
  ['runs', 'Runs'],
  ['runners', 'Runners'],
  ['campaigns', 'Campaigns'],
  ['initiatives', 'Initiatives'],
  ['sentinels', 'Sentinels'],
  ['intent', 'Intent'],
  ['hypotheses', 'Hypotheses'],
  ['briefs', 'Briefs'],
  ['sessions', 'Sessions'],
  ['projects', 'Projects'],
  ['events', 'Events'],
] as const

function Frame({ onEnd }: { onEnd: (why?: Problem) => void }): JSX.Element {
  const above = useSession()
  const place = usePlace()
  const { live } = above
  const [page = ''] = place.path
  useEffect(() => live.narrow(interestOf(page)), [live, page])
  const { value } = useResource('api/projects', {
    query: { state: 'active', limit: LIST_LIMIT_MAX },
    isChangedBy: isOfProject,
  })
  const { value: caller } = useResource('api/tokens/self', { isChangedBy: isNever })
  const rights = useMemo(() => caller && new Set<Right>(caller.rights), [caller])
  const projects: Session['projects'] | undefined = value?.items
  const chosen = place.query.get('project') ?? undefined
  // It may have been archived meanwhile.
  const project = projects === undefined ? chosen : projects.find(({ key }) => key === chosen)?.key
  const session: Session = { ...above, rights, project, projects: projects ?? [] }
  const attention = useResource('api/attention', { query: { project, limit: ATTENTION_SHOWN }, everyMs: EVERY_MS })
  const needed = neededBy(attention)
  useTitle(place, project, needed)
  useToldNeed(attention.value && (needed ?? '0'), above.say)
  const main = useRef<HTMLElement>(null)
  useArrival(place, main)
  return (
    <SessionContext.Provider value={session}>
      <header class="top">
        <a
          class="skip"
          href={place.href === '' ? '#/' : place.href}
          onClick={(event) => {
            event.preventDefault()
            main.current?.focus()
          }}
        >
          Skip to the content
        </a>
        <Link class="brand" to="#/">
          Intendant
        </Link>
        <nav aria-label="Pages">
          {PAGES.map(([page, name]) => (
            <Link key={page} to={`#/${page}`} isHere={(place.path[0] ?? '') === page}>
              {name}
              {page === '' && needed !== undefined && (
                <>
                  {' '}
                  <b class="needed" title="need you">
                    {needed}
                  </b>
                </>
              )}
            </Link>
          ))}
        </nav>
        <GoTo />
        <select
          aria-label="Project"
          onChange={({ currentTarget: { value: key } }) => {
            location.hash = hrefIn(key === '' ? undefined : key, place.href)
          }}
        >
          <option value="">All projects</option>
          {session.projects.map(({ key }) => (
            <option key={key} value={key} selected={key === project}>
              {key}
            </option>
          ))}
        </select>
        <Connected />
        {caller !== undefined && <span class="dim">{readable(caller.name)}</span>}
        <button type="button" onClick={() => onEnd()}>
          Sign out
        </button>
      </header>
      <main ref={main} tabIndex={-1}>
        <Page key={place.href} at={place} attention={attention} />
      </main>
    </SessionContext.Provider>
  )
}

/** The address in the title, and how much needs a person: it can be read on the tab. */
function useTitle({ path: [page = '', id] }: Place, project: string | undefined, needed: string | undefined): void {
  const name = PAGES.find(([one]) => one === page)?.[1] ?? page
  const parts = [needed && `(${needed})`, name, id && shortOf(id), project && `in ${project}`, '– Intendant']
  const title = readable(parts.filter((part) => part !== undefined && part !== '').join(' '))
  useEffect(() => {
    document.title = title
  }, [title])
}

/** A number that changes with each event would be nothing to listen to. */
const TOLD_AFTER_MS = 3_000

/** Says how much needs a person when that has become another number and stays it for a moment. */
function useToldNeed(needed: string | undefined, say: (text: string) => void): void {
  const last = useRef(needed)
  useEffect(() => {
    if (needed === undefined || needed === last.current) return
    const isFirst = last.current === undefined
    const tell = (): void => {
      last.current = needed
      if (!isFirst) say(needed === '0' ? 'Nothing needs you.' : `${needed} need you.`)
    }
    if (isFirst) return tell()
    const timer = setTimeout(tell, TOLD_AFTER_MS)
    return () => clearTimeout(timer)
  }, [needed])
}

/** A page begins at its top, and those who use a keyboard or a screen reader are there. Its filters are not a page. */
function useArrival({ path }: Place, main: { readonly current: HTMLElement | null }): void {
  const at = path.join('/')
  const last = useRef(at)
  useEffect(() => {
    if (last.current === at) return
    last.current = at
    document.documentElement.scrollTop = 0
    main.current?.focus({ preventScroll: true })
  }, [at])
}

/** The rights of a token stay as they are; where its roles mean others, the service was started again. */
function isNever(): boolean {
  return false
}

function isOfProject({ event_type }: Record<string, any>): boolean {
  return String(event_type).startsWith('project_')
}

const CONNECTIONS: Readonly<Record<Connection, string>> = {
  connecting: 'connecting …',
  live: 'live',
  refused: 'not live: this token may not watch',
}

function Connected(): JSX.Element {
  const { live } = useSession()
  const [connection, setConnection] = useState(live.connection)
  useEffect(() => {
    setConnection(live.connection)
    return live.onConnection(setConnection)
  }, [live])
  return <output class={`connection ${connection}`}>{CONNECTIONS[connection]}</output>
}

/** Whatever a document holds, the frame around its page stays. */
function Page({ at: { path, query }, attention }: { at: Place; attention: Resource }): JSX.Element {
  const [fault, again] = useErrorBoundary()
  if (fault !== undefined)
    return (
      <>
        <ProblemNote of={problemOf(fault)} />
        <button type="button" onClick={again}>
          Try again
        </button>
      </>
    )
  const [page = '', id] = path
  if (page === '') return <OverviewPage attention={attention} />
  if (page === 'events') return <EventsPage types={query.get('types') ?? undefined} />
  if (page === 'traces' && id !== undefined) return <TracePage key={id} id={id} />
  if (!Object.hasOwn(KINDS, page)) return <NoPage />
  if (id === undefined) return <ListPage page={page} chosen={query.get('state') ?? undefined} />
  return <EntityPage key={`${page} ${id}`} page={page} id={id} />
}

function NoPage(): JSX.Element {
  return (
    <>
      <h1>There is no such page</h1>
      <p>
        All begins at the <Link to="#/">overview</Link>.
      </p>
    </>
  )
}
