/** A table whose rows can be selected, and what can be done to all of them at once. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Action, lackedFor } from '../actions/action.ts'
import { type Document, idIn, type Problem } from '../document.ts'
import { type RefusedOne, selectedAfter, sendMany } from '../many.ts'
import { problemOf } from '../resource.ts'
import { useSession } from '../session.ts'
import { counted } from '../words.ts'
import { filledIn, Input, sent } from './actions.tsx'
import { ProblemNote, Ref } from './basics.tsx'
import { Table, type TableProps } from './table.tsx'

/** What a row is about, and all that can be done to things of its kind. */
interface Target {
  readonly of: Document
  readonly actions: readonly Action[]
}

interface Props extends TableProps {
  readonly targetOf: (row: Document) => Target
  /** Reads all rows of which these are the first; absent: these are all, or not all can be read. */
  readonly readAll?: (() => Promise<readonly Document[]>) | undefined
  readonly onDone: () => unknown
}

export function SelectableTable({ targetOf, readAll, onDone, ...table }: Props): JSX.Element {
  const { rows, keyOf, columns } = table
  const { say } = useSession()
  const [selected, select] = useState<ReadonlySet<string>>(new Set())
  /** Rows that were read to select all of them, and are not shown. */
  const [others, setOthers] = useState<readonly Document[]>([])
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const last = useRef<string | undefined>(undefined)
  const keys = rows.map(keyOf)
  const shown = new Set(keys)
  const chosen = [...rows, ...others.filter((row) => !shown.has(keyOf(row)))].filter((row) => selected.has(keyOf(row)))
  const isPage = keys.length > 0 && keys.every((key) => selected.has(key))

  function clear(): void {
    select(new Set())
    setOthers([])
  }

  async function selectAll(): Promise<void> {
    try {
      const all = (await readAll?.()) ?? []
      setOthers(all)
      select(new Set(all.map(keyOf)))
      setProblem(undefined)
      say(`${counted(all.length, 'row')} selected.`)
    } catch (error) {
      setProblem(problemOf(error))
    }
  }

  const box = {
    head: 'Select',
    headCell: (
      <input
        type="checkbox"
        aria-label="Select all rows shown"
        checked={isPage}
        onChange={() => (isPage ? clear() : select(new Set([...selected, ...keys])))}
      />
    ),
    cell: (row: Document) => {
      const key = keyOf(row)
      return (
        <input
          type="checkbox"
          aria-label={`Select ${idIn(targetOf(row).of)}`}
          checked={selected.has(key)}
          onClick={({ currentTarget: { checked: isOn }, shiftKey }) => {
            select(selectedAfter(selected, keys, { key, from: shiftKey ? last.current : undefined, isOn }))
            last.current = key
          }}
        />
      )
    },
  }
  return (
    <>
      <Table {...table} columns={[box, ...columns]} isChosen={(row) => selected.has(keyOf(row))} />
      {chosen.length > 0 && (
        <div class="selected">
          <b>{counted(chosen.length, 'row')} selected</b>
          {isPage && readAll !== undefined && others.length === 0 && (
            <button type="button" onClick={selectAll}>
              Select all that match
            </button>
          )}
          <ManyActions
            targets={chosen.map(targetOf)}
            onDone={() => {
              clear()
              onDone()
            }}
          />
          <button type="button" onClick={clear}>
            Clear
          </button>
        </div>
      )}
      {problem !== undefined && <ProblemNote of={problem} />}
    </>
  )
}

/** The things to which an action of this label is offered, each with its own. */
type Offer = readonly { readonly of: Document; readonly action: Action }[]

function offersOf(targets: readonly Target[]): ReadonlyMap<string, Offer> {
  const offers = new Map<string, Offer[number][]>()
  for (const { of, actions } of targets)
    for (const action of actions)
      if (action.isForMany === true && action.isOffered(of)) {
        const offer = offers.get(action.label)
        if (offer === undefined) offers.set(action.label, [{ of, action }])
        else offer.push({ of, action })
      }
  return offers
}

function ManyActions({ targets, onDone }: { targets: readonly Target[]; onDone: () => unknown }): JSX.Element {
  const { rights } = useSession()
  // As it was when the button was pressed: what is confirmed is what is done.
  const [chosen, choose] = useState<Offer | undefined>(undefined)
  const isAllowed = ({ action }: Offer[number]): boolean =>
    rights !== undefined && lackedFor(action, rights).length === 0
  return (
    <>
      {[...offersOf(targets)]
        .map(([label, offer]) => [label, offer.filter(isAllowed)] as const)
        .filter(([, offer]) => offer.length > 0)
        .map(([label, offer]) => (
          <button type="button" key={label} onClick={() => choose(offer)}>
            {label} {offer.length}
          </button>
        ))}
      {chosen !== undefined && (
        <ConfirmMany
          offer={chosen}
          onClose={(isDone) => {
            choose(undefined)
            if (isDone) onDone()
          }}
        />
      )}
    </>
  )
}

type Stage =
  | { readonly is: 'asking' }
  | { readonly is: 'sending'; readonly count: number }
  | { readonly is: 'done'; readonly refused: readonly RefusedOne[] }

function ConfirmMany({ offer, onClose }: { offer: Offer; onClose: (isDone: boolean) => void }): JSX.Element {
  const { api, say } = useSession()
  const dialog = useRef<HTMLDialogElement>(null)
  const [stage, setStage] = useState<Stage>({ is: 'asking' })
  const { label, fields = [], isGrave } = offer[0]!.action
  const explained = [...new Set(offer.map(({ action }) => action.explains))]
  useEffect(() => dialog.current?.showModal(), [])

  async function send(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    const filled = filledIn(new FormData(event.currentTarget as HTMLFormElement), fields)
    const actions = new Map(offer.map(({ of, action }) => [of, action]))
    setStage({ is: 'sending', count: 0 })
    const refused = await sendMany(
      [...actions.keys()],
      async (of) => {
        try {
          await sent(api, actions.get(of)!, filled, of)
          return undefined
        } catch (error) {
          return problemOf(error)
        }
      },
      (count) => setStage({ is: 'sending', count }),
    )
    setStage({ is: 'done', refused })
    say(`${label}: ${offer.length - refused.length} done, ${refused.length} refused.`)
  }

  return (
    <dialog
      ref={dialog}
      onClose={() => onClose(stage.is === 'done')}
      onCancel={(event) => stage.is === 'sending' && event.preventDefault()}
      aria-label={`${label} ${offer.length}`}
    >
      <form onSubmit={send}>
        <h2>
          {label} {offer.length}
        </h2>
        {stage.is === 'asking' && (
          <>
            <p>Of each of these {offer.length}:</p>
            {explained.map((text) => (
              <p key={text}>{text}</p>
            ))}
            {fields.map((field) => (
              <Input key={field.name} field={field} of={{}} />
            ))}
          </>
        )}
        {stage.is === 'sending' && (
          <p>
            <progress aria-label="Done" max={offer.length} value={stage.count} /> {stage.count} of {offer.length}
          </p>
        )}
        {stage.is === 'done' && <Told label={label} count={offer.length} refused={stage.refused} />}
        <div class="actions">
          {stage.is === 'asking' && (
            <button type="submit" class={isGrave === true ? 'grave' : 'main'}>
              {label} {offer.length}
            </button>
          )}
          <button type="button" disabled={stage.is === 'sending'} onClick={() => dialog.current?.close()}>
            {stage.is === 'done' ? 'Close' : 'Back'}
          </button>
        </div>
      </form>
    </dialog>
  )
}

function Told({
  label,
  count,
  refused,
}: {
  label: string
  count: number
  refused: readonly RefusedOne[]
}): JSX.Element {
  return (
    <>
      <p>
        {label}: {count - refused.length} of {count} done{refused.length > 0 && `, ${refused.length} refused:`}
      </p>
      <ul class="cards">
        {refused.map(({ of, problem: { title, detail } }) => (
          <li key={idIn(of)}>
            <Ref to={idIn(of)} /> {detail ?? title}
          </li>
        ))}
      </ul>
    </>
  )
}
