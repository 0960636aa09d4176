/** The list of a kind: newest first, narrowed to a project and a state. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Action } from '../actions/action.ts'
import { NEW_TASK } from '../actions/items.ts'
import { NEW_SENTINEL } from '../actions/sentinels.ts'
import { type Api, LIST_LIMIT_MAX } from '../api.ts'
import { costOf, sessionsSince } from '../costs.ts'
import type { Document, Query } from '../document.ts'
import type { Kind } from '../kinds/kind.tsx'
import { KINDS } from '../kinds.ts'
import { Actions } from '../parts/actions.tsx'
import { Link, Loaded } from '../parts/basics.tsx'
import { SelectableTable } from '../parts/selection.tsx'
import { Table } from '../parts/table.tsx'
import { hrefOf } from '../place.ts'
import { useNow, useResource } from '../resource.ts'
import { useSession } from '../session.ts'
import { counted } from '../words.ts'

const PAGE = 50

/** What makes a new thing of the kind, by page. A map, as `page` is from the address. */
const CREATES: ReadonlyMap<string, Action> = new Map([
  ['items', NEW_TASK],
  ['sentinels', NEW_SENTINEL],
])

export function ListPage({ page, chosen }: { page: string; chosen: string | undefined }): JSX.Element {
  const kind = KINDS[page]!
  const { project } = useSession()
  const creates = CREATES.get(page)
  return (
    <>
      <h1>{kind.many}</h1>
      {creates !== undefined && <Actions actions={[creates]} of={project === undefined ? {} : { project }} />}
      {page === 'sessions' && <CostOfToday project={project} />}
      <Filters page={page} kind={kind} chosen={chosen} />
      {kind.isPerProject === true && project === undefined ? (
        <p class="dim">Choose a project above.</p>
      ) : (
        <Rows key={`${page} ${project} ${chosen}`} kind={kind} project={project} chosen={chosen} />
      )}
    </>
  )
}

const DAY_MS = 86_400_000

/** What has been spent lately, of all sessions that can be read at once. */
function CostOfToday({ project }: { project: string | undefined }): JSX.Element | null {
  const now = useNow()
  const { value } = useResource('api/agent-sessions', {
    query: { project, limit: LIST_LIMIT_MAX },
    isChangedBy: ({ event_type }) => event_type === 'agent_session_ended',
  })
  if (value === undefined) return null
  const all: readonly Document[] = value.items
  const recent = sessionsSince(all, now - DAY_MS)
  // In the order of their beginnings: one that began before all of these may have ended since then.
  const isWhole = value.next_cursor === undefined
  const cost = costOf(recent)
  return (
    <p>
      {counted(recent.length, 'session')} in the last 24 hours: {isWhole ? '' : 'at least '}
      {cost === '' ? 'no cost told' : cost}
    </p>
  )
}

function Filters({ page, kind, chosen }: { page: string; kind: Kind; chosen: string | undefined }): JSX.Element | null {
  if (kind.filters === undefined) return null
  const all: [string | undefined, string][] = [[undefined, 'all'], ...Object.entries(kind.filters)]
  return (
    <nav class="filters" aria-label="State">
      {all.map(([states, name]) => (
        <Link key={name} to={hrefOf([page], { state: states })} isHere={states === chosen}>
          {name}
        </Link>
      ))}
    </nav>
  )
}

interface RowsProps {
  readonly kind: Kind
  readonly project: string | undefined
  readonly chosen: string | undefined
  /** Narrows it further. */
  readonly query?: Query
}

/** Also stands on the pages of a project and of a sentinel. */
export function Rows({ kind, project, chosen, query = {} }: RowsProps): JSX.Element {
  const [limit, setLimit] = useState(PAGE)
  const {
    list,
    isPerProject,
    isGlobal,
    stateMember = 'state',
    everyMs,
    columns,
    idOf,
    many,
    isSelectable = false,
    actions = [],
  } = kind
  const ofProject = isPerProject === true || isGlobal === true ? undefined : project
  const { api } = useSession()
  const path = list(project ?? '')
  const filter: Query = { ...query, project: ofProject, [stateMember]: chosen }
  const resource = useResource(path, {
    query: { ...filter, limit },
    ...(everyMs === undefined ? {} : { everyMs }),
  })
  const table = { label: many, columns, keyOf: idOf, none: `No ${many.toLowerCase()}.` }
  return (
    <Loaded from={resource}>
      {({ items, next_cursor: more }) => (
        <>
          {isSelectable ? (
            <SelectableTable
              {...table}
              rows={items}
              targetOf={(of) => ({ of, actions })}
              readAll={more === undefined ? undefined : () => everyOf(api, path, filter)}
              onDone={resource.reload}
            />
          ) : (
            <Table {...table} rows={items} />
          )}
          {more !== undefined && <More limit={limit} onMore={setLimit} />}
        </>
      )}
    </Loaded>
  )
}

/** All that the filter admits, page by page. */
async function everyOf(api: Api, path: string, filter: Query): Promise<readonly Document[]> {
  const all: Document[] = []
  let cursor: string | undefined
  do {
    const { items, next_cursor: next } = await api.get(path, { ...filter, limit: LIST_LIMIT_MAX, cursor })
    all.push(...items)
    cursor = next
  } while (cursor !== undefined)
  return all
}

function More({ limit, onMore }: { limit: number; onMore: (limit: number) => void }): JSX.Element {
  if (limit >= LIST_LIMIT_MAX)
    return <p class="dim">The newest {LIST_LIMIT_MAX}. For older ones, narrow the list, or use the command line.</p>
  return (
    <button type="button" onClick={() => onMore(Math.min(LIST_LIMIT_MAX, limit * 2))}>
      More
    </button>
  )
}
