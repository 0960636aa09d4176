/** Tables of documents: their columns are data. */
import type { ComponentChildren, JSX } from 'preact'
import type { Document } from '../document.ts'
import { readable } from '../words.ts'
import { Scroller } from './scroller.tsx'

export interface Column {
  readonly head: string
  readonly cell: (row: Document) => ComponentChildren
  /** Takes what room is left; the text is cut there. */
  readonly isWide?: true
  /** Instead of the words of its head. */
  readonly headCell?: JSX.Element
}

export interface TableProps {
  /** What the rows are, for those who hear the page instead of seeing its headings. */
  readonly label: string
  readonly rows: readonly Document[]
  readonly columns: readonly Column[]
  readonly keyOf: (row: Document) => string
  /** What to say instead of an empty table. */
  readonly none: string
  readonly isChosen?: (row: Document) => boolean
}

function shown(content: ComponentChildren): ComponentChildren {
  return typeof content === 'string' ? readable(content) : content
}

export function Table({ label, rows, columns, keyOf, none, isChosen }: TableProps): JSX.Element {
  if (rows.length === 0) return <p class="dim">{none}</p>
  return (
    <Scroller class="scroll" label={`${label}, to scroll`}>
      <table aria-label={label}>
        <thead>
          <tr>
            {columns.map(({ head, headCell }) => (
              <th key={head} scope="col">
                {headCell ?? head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)} class={isChosen?.(row) === true ? 'chosen' : undefined}>
              {columns.map(({ head, cell, isWide }) => (
                <td key={head} class={isWide === true ? 'wide' : undefined}>
                  {shown(cell(row))}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </Scroller>
  )
}
