/** A whole document for people: every member with its name, ids as links, times with their age. Nothing is left out. */
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Document } from '../document.ts'
import { hrefFor, isState, isTime, readable, wordsOf } from '../words.ts'
import { Linked, Moment, Ref, State } from './basics.tsx'
import { Scroller } from './scroller.tsx'

/** Texts longer than this, or of several lines, get a block of their own. */
const INLINE_LENGTH_MAX = 160
/** Members and elements shown at first: payloads may have as many as a body can hold. */
const SHOWN_MAX = 100
/** Members whose value may be the name of a state. */
const STATES: ReadonlySet<string> = new Set(['state', 'status', 'presence', 'outcome', 'verdict'])

/** `without`: members that the page shows elsewhere. A `ref` is the name of a thing of the `kind` beside it. */
export function Fields({ of, without = [] }: { of: Document; without?: readonly string[] }): JSX.Element {
  const members = Object.entries(of).filter(([name, value]) => !without.includes(name) && !isEmpty(value))
  return (
    <Some of={members}>
      {(shown) => (
        <dl>
          {shown.map(([name, value]) => (
            <div key={name} class={isBlock(value) ? 'block' : undefined}>
              <dt>{readable(wordsOf(name))}</dt>
              <dd>
                <Value of={value} as={name === 'ref' && typeof of.kind === 'string' ? of.kind : name} />
              </dd>
            </div>
          ))}
        </dl>
      )}
    </Some>
  )
}

/** The first ones, and the others when somebody asks. */
function Some<T>({ of, children }: { of: readonly T[]; children: (shown: readonly T[]) => JSX.Element }): JSX.Element {
  const [isWhole, setWhole] = useState(false)
  return (
    <>
      {children(isWhole ? of : of.slice(0, SHOWN_MAX))}
      {!isWhole && of.length > SHOWN_MAX && (
        <button type="button" onClick={() => setWhole(true)}>
          All {of.length}
        </button>
      )}
    </>
  )
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || (Array.isArray(value) && value.length === 0)
}

function isBlock(value: unknown): boolean {
  if (typeof value === 'string') return isLong(value)
  return Array.isArray(value) ? value.some(isBlock) || value.some(isObject) : isObject(value)
}

function isObject(value: unknown): value is Document {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isLong(text: string): boolean {
  return text.length > INLINE_LENGTH_MAX || text.includes('\n')
}

function Value({ of, as }: { of: unknown; as: string }): JSX.Element {
  if (typeof of === 'string') return <Text of={of} as={as} />
  if (Array.isArray(of)) return <List of={of} as={as} />
  if (isObject(of)) return Object.keys(of).length === 0 ? <code>{'{}'}</code> : <Fields of={of} />
  if (typeof of === 'boolean') return <>{of ? 'yes' : 'no'}</>
  return <>{typeof of === 'number' ? of.toLocaleString('en') : String(of)}</>
}

function Text({ of, as }: { of: string; as: string }): JSX.Element {
  if (STATES.has(as) && isState(of)) return <State of={of} />
  if (isTime(of)) return <Moment of={of} />
  if (isLong(of))
    return (
      <Scroller class="text" label={wordsOf(as)}>
        <Linked text={of} />
      </Scroller>
    )
  if (hrefFor(of, as) !== undefined) return <Ref to={of} as={as} />
  return <Linked text={of} />
}

function List({ of, as }: { of: readonly unknown[]; as: string }): JSX.Element {
  return (
    <Some of={of}>
      {(shown) => (
        <ul class={of.some(isBlock) ? 'cards' : 'inline'}>
          {shown.map((value, at) => (
            // Lists of documents have no key of their own, and only ever grow.
            <li key={at}>
              <Value of={value} as={as} />
            </li>
          ))}
        </ul>
      )}
    </Some>
  )
}
