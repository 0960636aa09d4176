/** Buttons for what a person can do, and the dialog in which it is confirmed. */
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type Action, type Choice, type Field, lackedFor, refusedIn } from '../actions/action.ts'
import { type Api, newKey } from '../api.ts'
import type { Document, Problem } from '../document.ts'
import { hrefOf } from '../place.ts'
import { problemOf } from '../resource.ts'
import { useGo, useSession } from '../session.ts'
import { ProblemNote, Required } from './basics.tsx'

interface Props {
  readonly actions: readonly Action[]
  readonly of: Document
  /** Called when the service has done it. */
  readonly onDone?: () => unknown
}

/** One button for each action that is offered in this state and that the token may do; the others are only named. */
export function Actions({ actions, of, onDone }: Props): JSX.Element | null {
  const [chosen, choose] = useState<Chosen | undefined>(undefined)
  const group = useRef<HTMLDivElement>(null)
  const { rights, say } = useSession()
  const offered = rights === undefined ? [] : actions.filter(({ isOffered }) => isOffered(of))
  if (rights === undefined || (offered.length === 0 && chosen === undefined)) return null
  const refused = refusedIn(offered, rights)
  return (
    <div class="actions" ref={group} tabIndex={-1}>
      {offered
        .filter((action) => lackedFor(action, rights).length === 0)
        .map((action) => (
          <button
            type="button"
            key={action.label}
            aria-label={action.about && `${action.label} ${action.about}`}
            onClick={() => choose({ action, of })}
          >
            {action.label}
          </button>
        ))}
      {refused !== '' && <small>{refused}</small>}
      {chosen !== undefined && (
        <Confirm
          {...chosen}
          onClose={(isDone) => {
            choose(undefined)
            if (!isDone) return
            // The button that was pressed may go with the state: what takes its place is here.
            group.current?.focus()
            say(`${chosen.action.label}: done.`)
            onDone?.()
          }}
        />
      )}
    </div>
  )
}

interface Chosen {
  readonly action: Action
  /** The document as it was shown when the action was chosen. */
  readonly of: Document
}

interface ConfirmProps extends Chosen {
  readonly onClose: (isDone: boolean) => void
}

function Confirm({ action, of, onClose }: ConfirmProps): JSX.Element {
  const { api } = useSession()
  const go = useGo()
  const dialog = useRef<HTMLDialogElement>(null)
  const [problem, setProblem] = useState<Problem | undefined>(undefined)
  const [isSending, setSending] = useState(false)
  // One key for what is filled in: sending it again after a lost answer makes nothing twice.
  const key = useRef(newKey())
  const isDone = useRef(false)
  const { label, explains, fields = [], opens, isGrave } = action

  useEffect(() => dialog.current?.showModal(), [])

  async function send(event: SubmitEvent): Promise<void> {
    event.preventDefault()
    setSending(true)
    setProblem(undefined)
    const filled = filledIn(new FormData(event.currentTarget as HTMLFormElement), fields)
    try {
      const made = await sent(api, action, filled, of, opens && key.current)
      isDone.current = true
      dialog.current?.close()
      if (opens !== undefined) go(hrefOf(opens(made)))
    } catch (error) {
      setProblem(problemOf(error))
      setSending(false)
    }
  }

  return (
    // Closed by its own means in every case, so that the browser puts the focus back where it was.
    <dialog ref={dialog} onClose={() => onClose(isDone.current)} aria-label={label}>
      <form
        onSubmit={send}
        onInput={() => {
          key.current = newKey()
        }}
      >
        <h2>{label}</h2>
        <p>{explains}</p>
        {fields
          .filter(({ choicesOf }) => choicesOf?.(of).length !== 0)
          .map((field) => (
            <Input key={field.name} field={field} of={of} fault={faultOf(field, problem)} />
          ))}
        {problem !== undefined && <ProblemNote of={problem} />}
        <div class="actions">
          <button type="submit" class={isGrave === true ? 'grave' : 'main'} disabled={isSending}>
            {label}
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Back
          </button>
        </div>
      </form>
    </dialog>
  )
}

/** What the service has said of the field: pointers name members of the body, of which a form sends some in another. */
function faultOf({ name }: Field, problem: Problem | undefined): string | undefined {
  return problem?.errors?.find(({ pointer }) => pointer?.split('/').at(-1) === name)?.detail
}

interface InputProps {
  readonly field: Field
  readonly of: Document
  readonly fault?: string | undefined
}

export function Input({ field, of, fault }: InputProps): JSX.Element {
  const { name, label, type, isRequired = false, hint, initial } = field
  const id = `field-${name}`
  const hints = [hint, type === 'time' ? 'In the time zone of this browser.' : undefined, fault].filter((one) => one)
  const common = {
    ...{ id, name, required: isRequired },
    ...(hints.length === 0 ? {} : { 'aria-describedby': `${id}-hint` }),
    ...(fault === undefined ? {} : { 'aria-invalid': true }),
  }
  const given = initial?.(of) ?? ''
  return (
    <div class={type === 'check' ? 'field check' : 'field'}>
      <div>
        <label for={id}>
          {label} {isRequired && <Required />}
        </label>
        {hints.length > 0 && <small id={`${id}-hint`}>{hints.join(' ')}</small>}
      </div>
      {type === 'long' && (
        <textarea {...common} rows={4}>
          {given}
        </textarea>
      )}
      {type === 'choice' && <Choose common={common} field={field} of={of} given={given} />}
      {type === 'check' && <input {...common} type="checkbox" />}
      {type === 'text' && <input {...common} type="text" defaultValue={given} />}
      {type === 'number' && <input {...common} type="number" min={field.least ?? 1} step={1} defaultValue={given} />}
      {type === 'time' && <input {...common} type="datetime-local" />}
    </div>
  )
}

interface ChooseProps {
  /** What every input has. */
  readonly common: object
  readonly field: Field
  readonly of: Document
  readonly given: string
}

/** Without choices of its own or of the document: the projects. */
function Choose({ common, field: { choices, choicesOf, none }, of, given }: ChooseProps): JSX.Element {
  const { projects } = useSession()
  const named = choices ?? projects.map(({ key }) => key as string)
  const offered: readonly Choice[] = choicesOf?.(of) ?? named.map((value) => ({ value, label: value }))
  const isGiven = offered.some(({ value }) => value === given)
  return (
    <select {...common}>
      {(none !== undefined || !isGiven) && <option value="">{none ?? 'Choose …'}</option>}
      {offered.map(({ value, label }) => (
        <option key={value} value={value} selected={value === given}>
          {label}
        </option>
      ))}
    </select>
  )
}

/** What the action made or changed, as the service answers it. Rejects with `Refused`. */
export async function sent(
  api: Api,
  action: Action,
  filled: Document,
  of: Document,
  idempotencyKey?: string,
): Promise<Document> {
  const { method = 'POST', path, body, send, isOfVersion } = action
  const version = isOfVersion && of.version
  return (
    (await send?.(api, filled, of)) ??
    (await api.change(method, path(of), body?.(filled, of) ?? filled, { idempotencyKey, version }))
  )
}

/** What was filled in, as the API takes it; fields left empty are left out. */
export function filledIn(form: FormData, fields: readonly Field[]): Document {
  const body: Document = {}
  for (const { name, type } of fields) {
    const value = form.get(name)
    if (typeof value !== 'string' || value.trim() === '') continue
    body[name] = type === 'check' ? true : type === 'number' ? Number(value) : type === 'time' ? utcOf(value) : value
  }
  return body
}

/** The form gives local time without its zone. */
function utcOf(local: string): string {
  return new Date(local).toISOString()
}
