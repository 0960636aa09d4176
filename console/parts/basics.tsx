/** The smallest parts: a state, a time, an id, a problem, an empty place. */
import type { ComponentChildren, JSX } from 'preact'
import type { Problem } from '../document.ts'
import { hrefIn } from '../place.ts'
import { useNow } from '../resource.ts'
import { useSession } from '../session.ts'
import { ageOf, hrefFor, momentOf, piecesOf, readable, toneOf, wordsOf } from '../words.ts'

export function State({ of }: { of: string }): JSX.Element {
  return <span class={`state ${toneOf(of)}`}>{readable(wordsOf(of))}</span>
}

/** How long ago, with the moment itself on demand. */
export function Age({ of }: { of: string | undefined }): JSX.Element | null {
  const now = useNow()
  if (of === undefined) return null
  return (
    <time dateTime={of} title={`${momentOf(of)} UTC`}>
      {ageOf(of, now)}
    </time>
  )
}

export function Moment({ of }: { of: string }): JSX.Element {
  const now = useNow()
  return (
    <time dateTime={of} title={of}>
      {momentOf(of)} <span class="dim">({ageOf(of, now)})</span>
    </time>
  )
}

interface LinkProps {
  readonly to: string
  readonly class?: string | undefined
  /** It leads to the page that is shown. */
  readonly isHere?: boolean
  readonly children: ComponentChildren
}

/** A link to a page of the console, in the project that is chosen: every one is made here. */
export function Link({ to, class: name, isHere = false, children }: LinkProps): JSX.Element {
  const { project } = useSession()
  return (
    <a class={name} href={hrefIn(project, to)} aria-current={isHere ? 'page' : undefined}>
      {children}
    </a>
  )
}

/** An id, or the name of something, as a link to its page. */
export function Ref({ to, as = '', children }: { to: string; as?: string; children?: ComponentChildren }): JSX.Element {
  const href = hrefFor(to, as)
  const shown = typeof children === 'string' ? readable(children) : (children ?? <code>{readable(to)}</code>)
  return href === undefined ? <span>{shown}</span> : <Link to={href}>{shown}</Link>
}

/** A text in which ids are links. */
export function Linked({ text }: { text: string | undefined }): JSX.Element {
  return (
    <span>
      {piecesOf(text ?? '').map(({ text: piece, href }) =>
        href === undefined ? piece : <Link to={href}>{piece}</Link>,
      )}
    </span>
  )
}

/** What was refused, why, and what to do about it, in the service's words. */
export function ProblemNote({ of }: { of: Problem }): JSX.Element {
  const { title, detail, action, errors = [] } = of
  return (
    <div class="problem" role="alert">
      <strong>{title}</strong>
      {detail !== undefined && <p>{detail}</p>}
      {errors.length > 0 && (
        <ul>
          {errors.map(({ pointer, detail: what }) => (
            <li key={`${pointer} ${what}`}>
              {pointer !== undefined && <code>{pointer}</code>} {what}
            </li>
          ))}
        </ul>
      )}
      {action !== undefined && <p class="dim">{action}</p>}
    </div>
  )
}

/** What a resource holds, or why there is nothing; what was read stays while a later read fails. */
export function Loaded<T>({
  from: { value, problem },
  children,
}: {
  from: { readonly value?: T | undefined; readonly problem?: Problem | undefined }
  children: (value: T) => ComponentChildren
}): JSX.Element {
  return (
    <>
      {problem !== undefined && <ProblemNote of={problem} />}
      {value !== undefined && children(value)}
      {value === undefined && problem === undefined && <Loading />}
    </>
  )
}

export function Loading(): JSX.Element {
  return <output class="dim">Loading …</output>
}

/** Stands in the label of a field that must be filled in. */
export function Required(): JSX.Element {
  return <span class="dim">(required)</span>
}

export function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h2>{title}</h2>
      {children}
    </section>
  )
}
