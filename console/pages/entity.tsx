/** The page of one thing: its state and why, what can be done, all that is known of it, its output and its history. */
import type { JSX } from 'preact'
import type { Document } from '../document.ts'
import type { Kind } from '../kinds/kind.tsx'
import { KINDS } from '../kinds.ts'
import { Actions } from '../parts/actions.tsx'
import { Linked, Loaded, Section, State } from '../parts/basics.tsx'
import { History } from '../parts/events.tsx'
import { Fields } from '../parts/fields.tsx'
import { Output } from '../parts/output.tsx'
import { Scroller } from '../parts/scroller.tsx'
import { type Resource, useResource } from '../resource.ts'
import { readable, shortOf } from '../words.ts'
import { DriftOf } from './drift.tsx'
import { OfProject } from './project.tsx'
import { OfSentinel } from './sentinel.tsx'

export function EntityPage({ page, id }: { page: string; id: string }): JSX.Element {
  const kind = KINDS[page]!
  const { everyMs } = kind
  const resource = useResource(kind.path(id), everyMs === undefined ? {} : { everyMs })
  return (
    <>
      {resource.value === undefined && (
        <h1>
          {kind.one} {readable(shortOf(id))}
        </h1>
      )}
      <Loaded from={resource}>{(of) => <Shown kind={kind} page={page} of={of} resource={resource} />}</Loaded>
    </>
  )
}

interface ShownProps {
  readonly kind: Kind
  readonly page: string
  readonly of: Document
  readonly resource: Resource
}

function Shown({ kind, page, of, resource }: ShownProps): JSX.Element {
  const { one, titleOf, whyOf = ({ reason }) => reason, idOf, stateMember = 'state', actions = [] } = kind
  const { history, output, without = [] } = kind
  const state: string | undefined = of[stateMember]
  const printed = output?.(of)
  return (
    <>
      <header class="head">
        <p class="dim">
          {one} <code>{idOf(of)}</code>
        </p>
        <Scroller class="title" label="Title">
          <h1>
            <Linked text={titleOf(of)} />
          </h1>
        </Scroller>
        {state !== undefined && (
          <p>
            <State of={state} /> <Linked text={whyOf(of)} />
          </p>
        )}
        <Actions actions={actions} of={of} onDone={resource.reload} />
      </header>
      {page === 'intent' && <DriftOf record={of} />}
      {page === 'sentinels' && <OfSentinel of={of} />}
      {printed !== undefined && (
        <Section title="Output">
          <Output key={printed} run={printed} />
        </Section>
      )}
      <Section title="Details">
        <Fields of={of} without={without} />
      </Section>
      {page === 'projects' && <OfProject project={of.key} />}
      {history !== undefined && (
        <Section title="History">
          <History filter={history(of)} />
        </Section>
      )}
    </>
  )
}
