/** What the console shows of a kind of thing: where it is read, what its list and its page say, what can be done. */
import type { JSX } from 'preact'
import type { Action } from '../actions/action.ts'
import type { Document } from '../document.ts'
import { Age, Linked, Ref, State } from '../parts/basics.tsx'
import type { Column } from '../parts/table.tsx'
import { shortOf } from '../words.ts'

export interface Kind {
  readonly one: string
  readonly many: string
  /** Path of the list, relative to the service; of one project for things that only a project lists. */
  readonly list: (project: string) => string
  /** The list needs a project. */
  readonly isPerProject?: true
  /** Its list takes no `project`. */
  readonly isGlobal?: true
  /** Name of the query parameter and of the member that holds its state. */
  readonly stateMember?: 'state' | 'status' | 'presence'
  /** Values that the list can be filtered by, several of them separated by commas, with what to call them. */
  readonly filters?: Readonly<Record<string, string>>
  /** Path of one, relative to the service. */
  readonly path: (id: string) => string
  readonly idOf: (of: Document) => string
  /** The heading of its page. */
  readonly titleOf: (of: Document) => string
  /** Why it is in its state, or why it waits; default: the document's `reason`. */
  readonly whyOf?: (of: Document) => string | undefined
  readonly columns: readonly Column[]
  readonly actions?: readonly Action[]
  /** Filter of the events that are its history. */
  readonly history?: (of: Document) => Readonly<Record<string, string>>
  /** Id of the run request whose output is shown on its page. */
  readonly output?: (of: Document) => string | undefined
  /** Members that its page does not list, since they are shown otherwise. */
  readonly without?: readonly string[]
  /** Rows of its list can be selected, for what can be done to many. */
  readonly isSelectable?: true
  /** It changes without an event: read again at this interval. */
  readonly everyMs?: number
}

export const byId = ({ id }: Document): string => id
export const byName = ({ name }: Document): string => name
export const at = (folder: string) => (id: string) => `api/${folder}/${encodeURIComponent(id)}`
export const ofProject = (folder: string) => (project: string) =>
  `api/projects/${encodeURIComponent(project)}/${folder}`

export const cell = (head: string, show: (row: Document) => JSX.Element | string | undefined | null): Column => ({
  head,
  cell: show,
})
export const wide = (head: string, show: (row: Document) => string | undefined): Column => ({
  head,
  cell: (row) => <Linked text={show(row)} />,
  isWide: true,
})
export const link = (head: string, idOf: (of: Document) => string, as = ''): Column =>
  cell(head, (row) => (
    <Ref to={idOf(row)} as={as}>
      <code>{shortOf(idOf(row))}</code>
    </Ref>
  ))
export const state = (member = 'state'): Column =>
  cell(member === 'state' ? 'State' : 'Status', (row) => <State of={row[member]} />)
export const age = (head: string, timeOf: (row: Document) => string | undefined): Column =>
  cell(head, (row) => <Age of={timeOf(row)} />)
export const project = cell('Project', (row) => row.project)

/** A filter for each of these states, called by its name. */
export function eachState(...states: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(states.map((state) => [state, state]))
}
